"""Who comes, who is sent away, and what happens to a page that is still open when a login ends."""

from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from tests.browser.actions import submit_sheep
from tests.browser.chromium import complaints, window
from tests.browser.server import PASSWORD


def log_in(page, password: str) -> None:
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_wrong_password_and_then_the_right_one(open_page, operator):
    page = open_page()
    page.goto("/jobs/submit/")
    expect(page).to_have_title("Log in | Background jobs")
    log_in(page, "a wrong one")
    expect(page.locator(".errorlist")).to_contain_text("enter a correct username and password")
    log_in(page, PASSWORD)
    expect(page.get_by_role("heading", level=1)).to_have_text("Submit a run")
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_title("Log in | Background jobs")


def test_when_the_login_ends_an_open_page_leads_to_the_login(page):
    run = submit_sheep(page)
    Session.objects.all().delete()
    page.wait_for_url(f"**/login/?next=/jobs/runs/{run}/")
    log_in(page, PASSWORD)
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Count sheep #{run}")


def test_the_ear_of_these_tests_hears_a_violation_and_an_error(chromium, server):
    with window(chromium, server.url) as opened:
        page = opened.new_page()
        page.goto("/login/")
        heard = complaints(opened)
        page.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: '1'}))")
        page.evaluate("setTimeout(() => nonsense(), 0)")
        opened.wait_for_event("weberror", lambda problem: len(heard) == 2)
    assert "Content Security Policy" in heard[0]
    assert "nonsense is not defined" in heard[1]
