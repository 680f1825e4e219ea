"""How well texts stand out from what is behind them, by WCAG's formula, computed in the page."""

from playwright.sync_api import Page

ENOUGH = 4.5

POOR = """(enough) => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
    const paint = canvas.getContext("2d", {willReadFrequently: true});

    // Any notation of a color that the browser knows, as red, green, blue and opacity from 0 to 1.
    function read(color) {
        paint.clearRect(0, 0, 1, 1);
        paint.fillStyle = color;
        paint.fillRect(0, 0, 1, 1);
        return [...paint.getImageData(0, 0, 1, 1).data].map((part) => part / 255);
    }
    const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3]));
    function behind(element) {
        if (!element) return read(matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#ffffff");
        const own = read(getComputedStyle(element).backgroundColor);
        return own[3] === 1 ? own : [...over(own, behind(element.parentElement)), 1];
    }
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    function contrast(color, element) {
        const back = behind(element);
        const lights = [luminance(over(read(color), back)), luminance(back)].sort((a, b) => b - a);
        return (lights[0] + 0.05) / (lights[1] + 0.05);
    }

    function colors(element) {
        const style = getComputedStyle(element);
        const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        const isField = element.matches("input:not([type=hidden], [type=checkbox]), select, textarea");
        const found = hasText || isField ? [style.color] : [];
        if (isField && element.placeholder) found.push(getComputedStyle(element, "::placeholder").color);
        if (getComputedStyle(element, "::before").content.startsWith("attr")) {
            found.push(getComputedStyle(element, "::before").color);
        }
        return found;
    }
    const told = [];
    for (const element of document.body.querySelectorAll("*")) {
        if (!element.checkVisibility({visibilityProperty: true}) || element.closest("svg, option, datalist")) continue;
        for (const color of colors(element)) {
            const found = contrast(color, element);
            if (found < enough) told.push(`${found.toFixed(2)} ${element.tagName} ${element.className} ` +
                `${color} ${(element.textContent || element.placeholder || "").trim().slice(0, 40)}`);
        }
    }
    return told;
}"""


def poor_contrasts(page: Page) -> list[str]:
    """The texts of the page whose contrast is below 4.5:1."""
    return page.evaluate(POOR, ENOUGH)
