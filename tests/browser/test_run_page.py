"""From the form to the end of a run, as a person sees it."""

import re

from playwright.sync_api import expect

from jobs.models import Run
from tests.browser import actions
from tests.browser.actions import PRESS, SHEEP, expect_state, number_of, submit_sheep
from tests.browser.server import THREADS
from tests.browser.tasks import count_sheep
from tests.processes.support import PATIENCE
from tests.runtime.support import wait_until


def test_a_wrong_value_is_told_beside_its_field_and_the_right_one_runs(page, server):
    page.goto("/jobs/submit/")
    page.get_by_role("link", name="Count sheep").click()
    page.get_by_label("How many").fill("3.5")
    page.get_by_label("Color").fill("black")
    page.get_by_role("button", **PRESS).click()
    wrong = page.locator(".field.wrong")
    expect(wrong).to_have_count(1)
    expect(wrong.get_by_label("How many")).to_have_value("3.5")
    expect(wrong.locator(".errorlist")).to_contain_text("whole number")
    expect(page.get_by_label("Color")).to_have_value("black")
    page.get_by_label("How many").fill("2")
    page.get_by_role("button", **PRESS).click()
    server.let_go(number_of(page))
    expect_state(page, "succeeded")
    expect(page.locator("#live")).to_contain_text('"2 black sheep"')


def test_a_date_of_which_a_part_is_missing_is_not_taken_for_none(page, server):
    """The run would start at once, although a person has begun to say when."""
    page.goto(SHEEP)
    page.get_by_label("How many").fill("1")
    page.get_by_text("Priority, queue and time").click()
    page.get_by_label("Not before").press_sequentially("01012099")
    page.get_by_text("Priority, queue and time").click()  # out of sight
    page.get_by_role("button", **PRESS).click()
    expect(page.get_by_label("Not before")).to_be_focused()
    assert not Run.objects.exists()


def test_progress_and_log_renew_themselves_until_the_end(page, server):
    run = submit_sheep(page, how_many=2)
    actions.remember_document(page)
    progress, log = page.locator("#live .progress"), page.locator("#log")
    expect(progress).to_contain_text("1 of 2 sheep")
    expect_state(page, "running")
    expect(log).to_contain_text("white sheep 1")
    server.let_go(run, step=1)
    expect(progress).to_contain_text("2 of 2 sheep")
    expect(log).to_have_text(re.compile("white sheep 1.*white sheep 2", re.DOTALL))
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "2")
    server.let_go(run)
    expect_state(page, "succeeded")
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    expect(page.locator("[hx-trigger]")).to_have_count(0)  # nothing more will come
    assert actions.is_same_document(page)


def test_ask_what_works_to_end(page, server):
    submit_sheep(page, how_many=2)
    expect_state(page, "running")
    page.get_by_label("Why (optional)").fill("The wolf comes")
    page.get_by_role("button", name="Ask it to end").click()
    expect(page.get_by_text("The run was asked to end.")).to_be_visible()
    expect_state(page, "cancelled")
    expect(page.locator("#live")).to_contain_text("It was asked to end.")
    expect(page.get_by_role("button", name="Run again")).to_be_visible()


def test_cancel_what_waits_with_a_note(page, server):
    count_sheep.enqueue_many([{"how_many": 1}] * THREADS)
    wait_until(lambda: Run.objects.filter(state="running").count() == THREADS, PATIENCE)
    run = submit_sheep(page)
    expect_state(page, "queued")
    page.get_by_label("Why (optional)").fill("The wolf comes")
    page.get_by_role("button", name="Cancel this run").click()
    expect(page.locator(".message")).to_have_text("The run is cancelled and will not start.")
    expect_state(page, "cancelled")
    expect(page.locator(".headline")).to_contain_text("by olga")
    assert number_of(page) == run
    page.goto("/admin/jobs/auditentry/")
    expect(page.get_by_role("row", name="The wolf comes")).to_have_count(1)


def test_run_again_with_edits(page, server):
    """It is filled in with what was given, without the secrets, which are kept all the same."""
    page.goto(SHEEP)
    page.get_by_label("How many").fill("1")
    page.get_by_label("Color").fill("grey")
    page.get_by_label("Since").fill("2026-05-04")
    page.get_by_label("Api token").fill("under the mat")
    page.get_by_role("button", **PRESS).click()
    first = number_of(page)
    server.let_go(first)
    page.get_by_role("link", name="Run again with edits").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(f"Run .*#{first} again"))
    expect(page.get_by_label("Color")).to_have_value("grey")
    expect(page.get_by_label("Since")).to_have_value("2026-05-04")
    expect(page.get_by_label("Api token")).to_have_value("")
    assert "under the mat" not in page.content()
    page.get_by_label("Color").fill("blue")
    page.get_by_role("button", **PRESS).click()
    expect(page.get_by_role("link", name=f"run {first}")).to_be_visible()
    second = number_of(page)
    server.let_go(second)
    expect_state(page, "succeeded")
    assert "under the mat" not in page.content()
    assert second != first
    assert arguments_of(second) == arguments_of(first) | {"color": "blue"}
    assert arguments_of(second)["api_token"] == "under the mat"


def arguments_of(run: int) -> dict:
    return Run.objects.get(pk=run).arguments


def test_a_failure_tells_its_reason_and_keeps_its_traceback_open(page):
    page.goto("/jobs/submit/tests.browser.tasks.fall_ill/")
    page.get_by_role("button", **PRESS).click()
    expect_state(page, "failed")
    expect(page.locator(".headline")).to_contain_text("The sheep are ill")
    page.get_by_text("Traceback", exact=True).click()
    expect(page.locator(".attempt pre")).to_contain_text("raise ValueError")
