"""What a person does on the pages, in a few words."""

import re

from playwright.sync_api import Page, expect

SHEEP = "/jobs/submit/tests.browser.tasks.count_sheep/"
PRESS = {"name": "Run", "exact": True}
LATER = {"not_before": "2099-01-01T00:00"}


def submit_sheep(page: Page, how_many: int = 1, **options: str) -> int:
    """Submit a run of `count_sheep`; its number. The options are those under "Priority, queue and time", by label."""
    page.goto(SHEEP)
    page.get_by_label("How many").fill(str(how_many))
    if options:
        page.get_by_text("Priority, queue and time").click()
    for label, text in options.items():
        page.get_by_label(label.replace("_", " ").capitalize()).fill(text)
    page.get_by_role("button", **PRESS).click()
    return number_of(page)


def number_of(page: Page) -> int:
    """The number of the run that the page is about, once the browser is there."""
    page.wait_for_url(re.compile(r"/jobs/runs/\d+/$"))
    return int(re.search(r"/runs/(\d+)/$", page.url)[1])


def expect_state(page: Page, state: str) -> None:
    """The page of a run tells this state, at once or when it has renewed itself."""
    expect(page.locator(".headline .state")).to_contain_text(state)


def remember_document(page: Page) -> None:
    """Leave a mark that a reload would wipe out."""
    page.evaluate("window.isTheSame = true")


def is_same_document(page: Page) -> bool:
    return page.evaluate("window.isTheSame === true")
