"""An operator defines a job in the admin: the parameters of the chosen function come without a reload."""

import pytest
from playwright.sync_api import expect

from tests.browser import actions
from tests.browser.actions import PRESS, expect_state, number_of


@pytest.fixture
def form(page):
    page.goto("/admin/jobs/job/add/")
    actions.remember_document(page)
    page.get_by_label("Name").fill("Two sheep")
    return page


def choose(page, label: str) -> None:
    page.get_by_label("Function").select_option(label=label)


def test_define_a_job_and_run_it(form, server):
    expect(form.get_by_label("How many")).to_have_count(0)
    choose(form, "Count sheep (tests.browser.tasks.count_sheep)")
    form.get_by_label("How many").fill("3.5")
    assert actions.is_same_document(form)
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form.locator(".errorlist").last).to_contain_text("whole number")
    form.get_by_label("How many").fill("2")
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form.locator(".messagelist")).to_contain_text("was added successfully")
    form.goto("/jobs/jobs/")
    form.get_by_role("link", name="Run Two sheep").click()
    expect(form.get_by_label("How many")).to_have_value("2")
    form.get_by_role("button", **PRESS).click()
    server.let_go(number_of(form))
    expect_state(form, "succeeded")


def test_what_was_typed_stays_for_a_parameter_of_the_same_name(form):
    choose(form, "Count sheep (tests.browser.tasks.count_sheep)")
    form.get_by_label("How many").fill("7")
    choose(form, "Nothing to do (tests.browser.tasks.nothing_to_do)")
    expect(form.get_by_label("How many")).to_have_count(0)
    choose(form, "Count sheep (tests.browser.tasks.count_sheep)")
    expect(form.get_by_label("How many")).to_have_value("7")
    assert actions.is_same_document(form)
