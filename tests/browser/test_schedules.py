"""A person gives a job a schedule, and sees before saving when it will run."""

import re

import pytest
from playwright.sync_api import expect

from jobs.models import Job
from tests.browser.actions import is_same_document, remember_document
from tests.browser.server import PASSWORD
from tests.browser.tasks import nothing_to_do


@pytest.fixture
def job(server) -> Job:
    return Job.objects.create(name="Feed the sheep", task=nothing_to_do.name)


def add_schedule(page, job: Job) -> None:
    page.goto(f"/jobs/jobs/{job.pk}/")
    page.get_by_role("link", name="Add a schedule").click()


def expect_on_upcoming(page) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Upcoming").click()
    row = page.locator(".lanes tbody tr").filter(has_text="Feed the sheep")
    expect(row).to_contain_text("At 04:30 every day (Europe/Berlin)")
    expect(row.locator("path.ticks")).to_have_attribute("d", re.compile("^M[0-9.]+ 4v16$"))
    expect(page.locator("[aria-labelledby=one-by-one]")).to_contain_text("Feed the sheep")


def test_from_a_wrong_expression_to_a_schedule_that_is_switched_off(page, job):
    add_schedule(page, job)
    remember_document(page)
    preview = page.locator("#preview")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    page.get_by_label("Expression").fill("30 25 * * *")
    expect(preview).to_contain_text("Expected 0 to 23 for the hour")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#rule .errorlist")).to_contain_text("Expected 0 to 23 for the hour")
    remember_document(page)
    page.get_by_label("Expression").fill("30 4 * * *")
    expect(preview).to_contain_text("At 04:30 every day (Europe/Berlin)")
    expect(preview.get_by_role("listitem").filter(has_text="04:30:00")).to_have_count(10)
    expect(preview).to_contain_text(re.compile(r"04:30:00 \+0[12]:00"))
    assert is_same_document(page)
    assert not job.schedules.exists()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".message.success")).to_contain_text("The schedule is saved. Its next time:")
    expect_on_upcoming(page)
    page.get_by_role("link", name="Feed the sheep").first.click()
    page.locator("[aria-labelledby=schedules]").get_by_role("button", name="Disable").click()
    expect(page.locator("[aria-labelledby=schedules]")).to_contain_text("disabled")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Upcoming").click()
    expect(page.locator("#upcoming")).not_to_contain_text("Feed the sheep")
    assert not job.schedules.get().is_enabled


def test_only_what_belongs_to_the_kind_is_asked_for(page, job):
    add_schedule(page, job)
    expect(page.get_by_label("Expression")).to_be_visible()
    interval = page.locator("[name=interval_seconds]")
    expect(interval).to_be_hidden()
    page.get_by_label("Kind").select_option("interval")
    expect(page.get_by_label("Expression")).to_be_hidden()
    interval.fill("90")
    expect(page.locator("#preview")).to_contain_text("Every 1 minute 30 seconds")


def test_without_javascript_there_is_a_button_to_look_first(open_page, operator, job):
    page = open_page(java_script_enabled=False)
    page.goto(f"/login/?next=/jobs/jobs/{job.pk}/")
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="Add a schedule").click()
    page.get_by_label("Expression").fill("30 4 * * *")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("At 04:30 every day")
    assert not job.schedules.exists()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".message.success")).to_contain_text("The schedule is saved.")
    assert job.schedules.get().expression == "30 4 * * *"
