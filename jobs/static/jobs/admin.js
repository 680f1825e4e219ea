"use strict";

// When another function is chosen, what was typed for parameters of the same name stays. It stays in the page: it would
// otherwise stand in addresses, and so in the logs of servers.
{
    const remembered = new Map();

    const isParameters = (target) => target.id === "jobs-parameters";
    const isChoice = (field) => field.type === "checkbox" || field.type === "radio";
    const keyOf = (field) => (isChoice(field) ? `${field.name}=${field.value}` : field.name);

    function fieldsIn(target) {
        return target.querySelectorAll("[name^='parameter-']");
    }

    function stateOf(field) {
        if (isChoice(field)) return field.checked;
        if (field.options) return Array.from(field.selectedOptions, (option) => option.value);
        return field.value;
    }

    function isEdited(field) {
        if (isChoice(field)) return field.checked !== field.defaultChecked;
        if (field.options) return Array.from(field.options).some((option) => option.selected !== option.defaultSelected);
        return field.value !== field.defaultValue;
    }

    function isOfKind(field, state) {
        if (isChoice(field)) return typeof state === "boolean";
        return Boolean(field.options) === Array.isArray(state) && typeof state !== "boolean";
    }

    function remember(target) {
        const keepsAll = target.querySelector("[data-kept]") !== null;
        for (const field of fieldsIn(target)) {
            if (keepsAll || isEdited(field)) remembered.set(keyOf(field), stateOf(field));
        }
    }

    function select(field, values) {
        const known = Array.from(field.options, (option) => option.value);
        if (!values.every((value) => known.includes(value))) return;
        for (const option of field.options) option.selected = values.includes(option.value);
    }

    function restore(target) {
        for (const field of fieldsIn(target)) {
            const state = remembered.get(keyOf(field));
            if (state === undefined || !isOfKind(field, state)) continue;
            if (isChoice(field)) field.checked = state;
            else if (field.options) select(field, state);
            else setText(field, state);
        }
    }

    // A picker drops a text that it cannot hold: then the field stays as it is.
    function setText(field, text) {
        const shown = field.value;
        field.value = text;
        if (text && !field.value) field.value = shown;
    }

    function tellFailure(target) {
        const note = document.createElement("p");
        note.className = "errornote";
        note.setAttribute("role", "alert");
        note.textContent = "The parameters could not be fetched. Save to see them.";
        target.replaceChildren(note);
    }

    document.addEventListener("htmx:beforeSwap", (event) => {
        if (isParameters(event.detail.target)) remember(event.detail.target);
    });
    document.addEventListener("htmx:afterSwap", (event) => {
        if (isParameters(event.detail.target)) restore(event.detail.target);
    });
    for (const failure of ["htmx:responseError", "htmx:sendError"]) {
        document.addEventListener(failure, (event) => {
            if (!isParameters(event.detail.target)) return;
            remember(event.detail.target);
            tellFailure(event.detail.target);
        });
    }
}
