/* Small courtesies around htmx: parts of a page renew themselves, but never under the hands of a person. */
"use strict";

/** Whether a person is busy inside this part: by keyboard, with selected text, or with something typed. */
function isInUse(part) {
  const selection = document.getSelection();
  if (part.querySelector(":focus-visible")) return true;
  if (selection && !selection.isCollapsed && part.contains(selection.anchorNode)) return true;
  return [...part.querySelectorAll("input:not([type=hidden]), textarea")].some((field) => field.value !== field.defaultValue);
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden || isInUse(event.detail.elt)) event.preventDefault();
});

/* What was unfolded stays unfolded. An answer to a request from before a person became busy comes too late. */
let unfolded = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  if (isInUse(event.detail.target)) return event.preventDefault();
  unfolded = [...event.detail.target.querySelectorAll("details[open][id]")].map((details) => details.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
});

/* A log keeps showing its end while it grows, unless somebody has scrolled up to read. */
const isAtEnd = (log) => log.scrollHeight - log.scrollTop - log.clientHeight < 40;
const following = new WeakMap();
document.addEventListener("htmx:oobBeforeSwap", (event) => following.set(event.detail.target, isAtEnd(event.detail.target)));
document.addEventListener("htmx:oobAfterSwap", (event) => {
  const log = event.detail.target;
  if (following.get(log)) log.scrollTop = log.scrollHeight;
});
document.addEventListener("DOMContentLoaded", () => {
  for (const log of document.querySelectorAll("[data-follow]")) log.scrollTop = log.scrollHeight;
});
