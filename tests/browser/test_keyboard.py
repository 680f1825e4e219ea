"""Everything can be done with keys alone, and it is always visible where one is."""

import re
from datetime import timedelta

from playwright.sync_api import expect

from jobs.lifecycle import pause
from tests.browser.actions import SHEEP, expect_state
from tests.browser.tasks import count_sheep

MANY = 150  # more stops than any page has

# What has the focus: its name, and whether one sees that it has; null when the focus has left the page.
STOP = """() => {
    const stop = document.activeElement;
    if (stop === document.body || stop === document.documentElement) return null;
    const style = getComputedStyle(stop), box = stop.getBoundingClientRect();
    const isShown = box.width > 1 && box.height > 1 && box.bottom > 0 && box.top < innerHeight && box.right > 0 &&
        box.left < innerWidth;
    const isPicker = stop.matches("[type=date], [type=datetime-local]");  // its button has a mark of its own
    const isMarked = isPicker || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2);
    const name = (stop.labels?.[0] ?? stop).textContent.trim() || stop.id || stop.tagName;
    return {name, isVisible: isShown && isMarked};
}"""


def next_stop(page) -> dict | None:
    page.keyboard.press("Tab")
    return page.evaluate(STOP)


def go_to(page, name: str) -> None:
    """Press Tab until something with this text has the focus."""
    for _ in range(MANY):
        stop = next_stop(page)
        if stop and re.search(name, stop["name"]):
            assert stop["isVisible"], name
            return
    raise AssertionError(f"no key leads to {name}")


def test_submit_and_cancel_a_run_with_keys_alone(page, server):
    pause("default")
    server.wait_until_it_has_looked()
    page.goto("/jobs/")
    go_to(page, "^Submit$")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Submit a run")
    go_to(page, "Count sheep")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Run Count sheep")
    go_to(page, "How many")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    expect_state(page, "queued")
    go_to(page, "Why")
    page.keyboard.type("The wolf comes")
    go_to(page, "Cancel this run")
    page.keyboard.press("Enter")
    expect_state(page, "cancelled")


def test_the_first_key_leads_past_the_navigation(page):
    page.goto("/jobs/")
    go_to(page, "Skip to the content")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the content")).not_to_be_in_viewport()


def test_the_focus_is_always_visible(page):
    run = count_sheep.using(run_after=timedelta(hours=1)).enqueue(how_many=1)
    for path in ("/login/", "/jobs/", "/jobs/runs/", f"/jobs/runs/{run.pk}/", SHEEP, "/jobs/workers/"):
        page.goto(path)
        stops = 0
        while stop := next_stop(page):
            assert stop["isVisible"], (path, stop["name"])
            stops += 1
            assert stops < MANY
        assert stops >= 2
