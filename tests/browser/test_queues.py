"""A queue is paused with a reason: who looks at a run that waits reads it, and when it is resumed the run ends."""

import re

from playwright.sync_api import expect

from tests.browser.actions import expect_state, is_same_document, remember_document, submit_sheep


def test_pause_and_resume(page, operator, server):
    page.goto("/jobs/workers/")
    page.get_by_label("Why pause default").fill("The fence is broken")
    page.get_by_role("button", name="Pause default").click()
    expect(page.locator(".message")).to_contain_text("The queue default is paused.")
    expect(page.get_by_role("row", name=re.compile("^default"))).to_contain_text("The fence is broken")
    server.wait_until_it_has_looked()

    run = submit_sheep(page)
    why = page.locator(".why").first
    expect_state(page, "queued")
    expect(why).to_contain_text(re.compile("paused.*olga.*The fence is broken"))
    remember_document(page)

    other = page.context.new_page()
    other.goto("/jobs/workers/")
    other.get_by_role("button", name="Resume default").click()
    expect(other.locator(".message")).to_contain_text("The queue default goes on.")
    server.let_go(run)
    expect_state(page, "succeeded")
    expect(why).to_have_count(0)
    assert is_same_document(page)
