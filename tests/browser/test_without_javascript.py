"""Without JavaScript nothing renews itself, and everything works."""

import pytest
from playwright.sync_api import expect

from tests.browser.actions import LATER, expect_state, submit_sheep
from tests.browser.server import PASSWORD


@pytest.fixture
def page(open_page, operator):
    page = open_page(java_script_enabled=False)
    page.goto("/login/?next=/jobs/")
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    return page


def test_submit_and_cancel(page):
    submit_sheep(page, **LATER)
    expect_state(page, "scheduled")
    page.get_by_label("Why (optional)").fill("The wolf comes")
    page.get_by_role("button", name="Cancel this run").click()
    expect_state(page, "cancelled")
    page.get_by_role("button", name="Run again", exact=True).click()
    expect(page.get_by_text("Repeats")).to_be_visible()


def test_pause_and_resume(page, server):
    page.goto("/jobs/workers/")
    page.get_by_label("Why pause default").fill("The fence is broken")
    page.get_by_role("button", name="Pause default").click()
    expect(page.locator("#workers-and-queues")).to_contain_text("The fence is broken")
    server.wait_until_it_has_looked()
    run = submit_sheep(page)
    expect_state(page, "queued")
    page.goto("/jobs/workers/")
    page.get_by_role("button", name="Resume default").click()
    expect(page.locator("#workers-and-queues")).not_to_contain_text("The fence is broken")
    page.goto(f"/jobs/runs/{run}/")
    expect(page.locator(".headline")).to_be_visible()
