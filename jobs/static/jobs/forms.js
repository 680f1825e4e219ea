"use strict";

/* A date of which only a part was typed would be sent as none at all, and its run would start at once. */
document.addEventListener("submit", (event) => {
  const half = [...event.target.elements].find((field) => field.validity?.badInput);
  if (!half) return;
  event.preventDefault();
  half.closest("details")?.setAttribute("open", "");
  half.reportValidity();
});
