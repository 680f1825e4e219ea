"""Who may only submit sees and cancels their own runs, and nothing of others."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.actions import LATER, expect_state, submit_sheep
from tests.browser.server import make_user


@pytest.fixture
def anna(open_page):
    return open_page(make_user("anna", "run_job"))


@pytest.fixture
def ben(open_page):
    return open_page(make_user("ben", "run_job"))


def test_only_ones_own_runs_are_seen_and_cancelled(anna, ben):
    hers = submit_sheep(anna, **LATER)
    his = submit_sheep(ben, **LATER)
    ben.goto("/jobs/runs/")
    expect(ben.get_by_role("heading", level=1)).to_have_text("Your runs")
    expect(ben.locator(".list tbody th")).to_have_text([f"Count sheep #{his}"])
    ben.goto(f"/jobs/runs/{his}/")
    expect(ben.locator("#live")).to_contain_text("You may not see parameters, results and logs.")
    ben.get_by_role("button", name="Cancel this run").click()
    expect_state(ben, "cancelled")
    expect(ben.get_by_role("button", name="Run again")).to_have_count(0)
    anna.goto(f"/jobs/runs/{hers}/")
    expect_state(anna, "scheduled")


def test_what_is_not_theirs_is_forbidden(anna, ben):
    hers = submit_sheep(anna, **LATER)
    for path in (f"runs/{hers}/", f"runs/{hers}/live/", f"runs/{hers}/log/", f"runs/{hers}.json", "workers/", "jobs/"):
        assert ben.goto(f"/jobs/{path}").status == 403, path
    expect(ben.get_by_role("heading", level=1)).to_have_text("You may not do this")
    ben.get_by_role("link", name="Background jobs").click()
    links = ben.get_by_role("navigation", name="Pages").get_by_role("link")
    expect(links).to_have_text(["Dashboard", "Runs", "Submit"])
    token = ben.locator("[name=csrfmiddlewaretoken]").first.input_value()
    for action in ("cancel", "again"):
        answer = ben.request.post(f"/jobs/runs/{hers}/{action}/", form={"csrfmiddlewaretoken": token})
        assert answer.status == 403
    anna.goto(f"/jobs/runs/{hers}/")
    expect_state(anna, "scheduled")


def test_without_any_permission_there_is_a_dashboard_and_no_form(open_page):
    page = open_page(make_user("nobody"))
    page.goto("/jobs/")
    expect(page.locator("main")).to_contain_text("Nothing runs at the moment.")
    expect(page.get_by_role("link", name=re.compile("Submit|Workers|Jobs$"))).to_have_count(0)
    assert page.goto("/jobs/submit/").status == 403
