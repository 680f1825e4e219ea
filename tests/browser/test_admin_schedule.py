"""An operator makes a schedule in the admin: what it means comes while it is typed."""

import pytest
from playwright.sync_api import expect

from jobs.models import Job, Schedule
from tests.browser import actions
from tests.browser.tasks import count_sheep


@pytest.fixture
def form(page):
    job = Job.objects.create(name="Two sheep", task=count_sheep.name, arguments_json='{"how_many": 2}')
    page.goto("/admin/jobs/schedule/add/")
    page.get_by_label("Job").select_option(label=job.name)
    page.get_by_role("button", name="Next").click()
    actions.remember_document(page)
    return page


def test_what_the_rule_means_comes_while_it_is_typed(form):
    preview = form.locator("#jobs-preview")
    form.get_by_label("Time zone").fill("Europe/Berlin")
    form.get_by_label("Expression").fill("30 2 * * 1")
    expect(preview).to_contain_text("02:30 on Monday (Europe/Berlin)")
    expect(preview.get_by_role("listitem")).to_have_count(10)
    form.get_by_label("Expression").fill("60 2 * * 1")
    expect(preview).to_contain_text("Expected 0 to 59 for the minute")
    assert actions.is_same_document(form)
    form.get_by_label("Kind").select_option(label="every so often")
    form.get_by_label("Every").fill("5:00")
    expect(preview).to_contain_text("Every 5 minutes")
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form.locator(".messagelist")).to_contain_text("was added successfully")
    assert Schedule.objects.get(job__name="Two sheep").interval_seconds == 300


def test_only_what_fits_is_shown(form):
    expect(form.get_by_label("Every")).to_be_hidden()
    expect(form.get_by_label("How many")).to_be_hidden()
    form.get_by_label("Kind").select_option(label="once")
    expect(form.get_by_label("Expression")).to_be_hidden()
    expect(form.get_by_label("Moment")).to_be_visible()
    form.get_by_label("Parameters of its own").check()
    expect(form.get_by_label("How many")).to_have_value("2")
