"""A page that renews itself does not do so under the hands of a person. The page's clock is turned by hand."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from jobs.lifecycle import pause
from tests.browser.tasks import count_sheep

WATCH = """() => {
    window.wishes = 0;
    document.addEventListener("htmx:beforeRequest", (event) => {
        if (event.detail.elt.id !== "log-poll") window.wishes++;
    });
}"""

TELL_ANSWER = """() => document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt.id !== "log-poll") document.body.dataset.hasAnswer = "yes";
})"""


class Renewing:
    """A page with a part that renews itself every so many milliseconds, from this address."""

    def __init__(self, page, path: str, renewed_from: str, every: int):
        self.page, self.every = page, every
        self._renewed_from = f"**{renewed_from}"
        page.clock.install()
        page.goto(path)
        page.evaluate(WATCH)

    def expect_renewal(self) -> None:
        with self.page.expect_response(self._renewed_from):
            self.page.clock.run_for(self.every)

    def let_it_want_to(self) -> None:
        """Let the time come three times."""
        before = self.page.evaluate("window.wishes")
        self.page.clock.run_for(3 * self.every)
        assert self.page.evaluate("window.wishes") >= before + 3

    def expect_no_request(self) -> None:
        asked = []
        self.page.on("request", lambda request: asked.append(request.url) if "/log/" not in request.url else None)
        self.let_it_want_to()
        assert asked == []


@pytest.fixture
def waiting_run(page):
    run = count_sheep.using(run_after=timedelta(hours=1)).enqueue(how_many=1)
    return Renewing(page, f"/jobs/runs/{run.pk}/", f"/jobs/runs/{run.pk}/live/", 1000)


@pytest.fixture
def workers(page):
    pause("barn")  # a queue of this name is known
    return Renewing(page, "/jobs/workers/", "/jobs/workers/", 5000)


def is_kept(renewing: Renewing, field, text: str) -> None:
    """The text stays while it is typed, and when the person has gone to another place; without it, renewal goes on."""
    renewing.expect_renewal()
    field.press_sequentially(text)
    renewing.let_it_want_to()
    expect(field).to_be_focused()
    expect(field).to_have_value(text)
    field.blur()
    renewing.let_it_want_to()
    expect(field).to_have_value(text)
    field.fill("")
    field.blur()
    renewing.expect_renewal()


def test_the_note_of_a_cancellation_stays(waiting_run, page):
    is_kept(waiting_run, page.get_by_label("Why (optional)"), "The wolf comes")


def test_the_log_renews_itself_meanwhile_and_the_note_stays(waiting_run, page):
    field = page.get_by_label("Why (optional)")
    field.fill("The wolf comes")
    for _ in range(3):
        with page.expect_response("**/log/?after=*"):
            page.clock.run_for(1000)
        expect(field).to_have_value("The wolf comes")


def test_the_reason_of_a_pause_stays(workers, page):
    is_kept(workers, page.get_by_label("Why pause default"), "The fence is broken")


def test_an_answer_that_comes_while_one_types_is_dropped(waiting_run, page):
    held = []
    page.route("**/live/", lambda route: held.append(route))
    with page.expect_request("**/live/"):
        page.clock.run_for(1000)
    field = page.get_by_label("Why (optional)")
    field.press_sequentially("The wolf comes")
    page.evaluate(TELL_ANSWER)
    held[0].continue_()
    expect(page.locator("body[data-has-answer]")).to_have_count(1)
    expect(field).to_have_value("The wolf comes")
    expect(field).to_be_focused()


def test_where_one_is_by_keyboard_stays(waiting_run, page):
    button = page.get_by_role("button", name="Cancel this run")
    page.get_by_label("Why (optional)").focus()
    page.keyboard.press("Tab")
    waiting_run.expect_no_request()
    expect(button).to_be_focused()


def test_what_is_selected_stays_selected(waiting_run, page):
    page.get_by_text("tests.browser.tasks.count_sheep").click(click_count=3)
    waiting_run.expect_no_request()
    assert page.evaluate("document.getSelection().toString()").strip() == "tests.browser.tasks.count_sheep"
