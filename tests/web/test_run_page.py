"""The page of one run: what it tells, what it offers, and how its parts renew themselves."""

import json
from datetime import timedelta

import pytest
from django.db import connection

from jobs.core.states import FINAL, State
from jobs.lifecycle import pause
from jobs.models import AuditEntry, Run
from jobs.registry import registry
from jobs.testing import drain
from tests.tasks import admin_single
from tests.web.support import Page, failed_with, make_job, make_run, make_worker, opened, told, url


def add_log(run, *texts, attempt=1) -> list[int]:
    """Pieces of a log; their ids."""
    return [
        run.log_chunks.create(attempt=attempt, number=number, text=text, written_at=run.enqueued_at).pk
        for number, text in enumerate(texts, run.log_chunks.count() + 1)
    ]


def log_of(page: Page) -> str:
    """The text of the element with the log."""
    return "".join(page.pieces).partition("Log")[2]


def test_why_it_waits(operator):
    run = make_run(queue="mail")
    pause("mail", reason="the server moves", actor="Ada")
    text = opened(operator, url("run", run.pk)).text
    assert "Its queue mail was paused by Ada: the server moves." in text
    assert "Nobody works: no worker has given a sign of life lately." in text


@pytest.mark.parametrize("state", sorted(FINAL | {State.RUNNING}))
def test_what_does_not_wait_is_not_explained(operator, state):
    page = opened(operator, url("run", make_run(state).pk))
    assert not [each for each in page.all("p") if each.get("class") == "why"]
    assert "Nobody works" not in page.text


@pytest.mark.parametrize("name", ["run", "run_live"])
@pytest.mark.parametrize("state", list(State))
def test_the_live_part_renews_itself_until_the_run_has_ended(operator, name, state):
    run = make_run(state)
    live = opened(operator, url(name, run.pk)).by_id("live")
    if state in FINAL:
        assert "hx-get" not in live
        assert "hx-trigger" not in live
    else:
        assert (live["hx-get"], live["hx-swap"]) == (url("run_live", run.pk), "outerHTML")


def test_the_live_part_is_that_of_the_page(operator, clock):
    run = make_run(State.RUNNING, progress_done=3.0, progress_total=4.0, progress_message="three")
    part = operator.get(url("run_live", run.pk)).content.decode()
    whole = opened(operator, url("run", run.pk))
    assert "<html" not in part
    assert Page(part).text in whole.text
    (bar,) = whole.all("progress")
    assert (bar["max"], bar["value"]) == ("4", "3")
    assert "3 of 4 three" in whole.text


@pytest.mark.parametrize(
    ("done", "total", "shown"),
    [
        (0.0, 4.0, "0 of 4"), (2.5, None, "2.5"), (1e300, 1e301, "1e+300 of 1e+301"), (-1.0, 4.0, "-1 of 4"),
        (float("inf"), float("inf"), "inf of inf"), (5.0, 0.0, "5"), (123456789.0, 1e9, "123456789 of 1000000000"),
    ],
)  # fmt: skip
def test_any_progress_has_a_page(operator, done, total, shown):
    if connection.vendor == "mysql" and done == float("inf"):
        pytest.skip("MariaDB stores no infinity")
    run = make_run(State.RUNNING, progress_done=done, progress_total=total)
    assert shown in opened(operator, url("run", run.pk)).text
    assert shown in opened(operator, url("dashboard")).text
    assert operator.get(url("run_json", run.pk)).status_code == 200


def test_the_log_grows_by_what_is_new(operator):
    run = make_run(State.RUNNING)
    first, second = add_log(run, "one\n", "two <b>\n")
    page = opened(operator, url("run", run.pk))
    assert "one\ntwo <b>\n" in log_of(page)
    assert page.by_id("log-poll")["hx-get"] == url("run_log", run.pk, after=second)
    part = operator.get(url("run_log", run.pk, after=first)).content.decode()
    assert '<div hx-swap-oob="beforeend:#log">two &lt;b&gt;\n</div>' in part
    assert "one" not in part
    add_log(run, "three\n")
    part = operator.get(url("run_log", run.pk, after=second)).content.decode()
    assert '<div hx-swap-oob="beforeend:#log">three\n</div>' in part
    assert Page(part).by_id("log-poll")["hx-get"] == url("run_log", run.pk, after=second + 1)


def test_without_news_the_log_is_asked_for_again_from_the_same_place(operator):
    run = make_run(State.RUNNING)
    (last,) = add_log(run, "one\n")
    part = Page(operator.get(url("run_log", run.pk, after=last)).content.decode())
    assert [attributes.get("hx-get") for _, attributes in part.elements] == [url("run_log", run.pk, after=last)]


def test_the_last_piece_of_the_log_comes_with_the_end_and_is_the_last(operator):
    run = make_run(State.SUCCEEDED)
    first, _ = add_log(run, "one\n", "the end\n")
    part = operator.get(url("run_log", run.pk, after=first)).content.decode()
    assert part.rstrip("\n") == '<div hx-swap-oob="beforeend:#log">the end\n</div>'
    assert operator.get(url("run_log", run.pk, after=first + 1)).content.strip() == b""


@pytest.mark.parametrize("after", ["", "x", "-1", "9" * 30, "१", "1.5"])
def test_any_place_in_the_log_may_be_asked_for(operator, after):
    run = make_run(State.RUNNING)
    add_log(run, "one\n")
    assert operator.get(url("run_log", run.pk, after=after)).status_code == 200


def test_a_waiting_run_shows_its_log_as_soon_as_it_runs(operator):
    run = make_run()
    page = opened(operator, url("run", run.pk))
    assert page.by_id("log-poll")["hx-get"] == url("run_log", run.pk, after=0)
    Run.objects.update(state=State.RUNNING)
    add_log(run, "at last\n")
    assert "at last" in operator.get(url("run_log", run.pk, after=0)).content.decode()


def lost_once(**columns) -> Run:
    run = make_run(State.RUNNING, losses=1, **columns)
    run.attempts.create(number=1, outcome="lost", ended_at=run.enqueued_at, worker_name="host:9")
    add_log(run, "of the first\n")
    add_log(run, "of the second\n", attempt=2)
    return run


def test_the_log_of_each_attempt(operator):
    run = lost_once()
    page = opened(operator, url("run", run.pk))
    assert "of attempt 2" in page.text
    assert "of the second" in page.text
    assert "of the first" not in page.text
    assert url("run", run.pk) + "?attempt=1#log-heading" in page.links
    earlier = opened(operator, url("run", run.pk, attempt=1))
    assert "of attempt 1" in earlier.text
    assert "of the first" in earlier.text
    assert "of the second" not in earlier.text
    assert not [each for _, each in earlier.elements if each.get("id") == "log-poll"]


def test_the_attempts_that_did_not_succeed(operator):
    run = lost_once()
    text = opened(operator, url("run", run.pk)).text
    assert "Attempt 1: its worker was lost" in text
    assert "on host:9" in text
    assert "Executions 2" in text


@pytest.mark.parametrize("attempt", ["", "0", "1", "2", "99", "-1", "x", "9" * 30, "१", "²", "1.5"])
def test_any_attempt_may_be_asked_for(operator, attempt):
    assert operator.get(url("run", lost_once().pk), {"attempt": attempt}).status_code == 200


def test_a_log_that_is_empty_says_so_once_it_cannot_grow(operator):
    nothing = "This attempt has logged nothing."
    assert nothing in opened(operator, url("run", make_run(State.SUCCEEDED).pk)).text
    assert nothing not in opened(operator, url("run", make_run(State.RUNNING).pk)).text


def test_a_failure_with_its_traceback(operator):
    run = failed_with("no such customer", failures=1)
    run.attempts.create(
        number=1, outcome="failed", error_class="ValueError", message="no such customer",
        traceback='Traceback …\n  File "x.py", line 7', ended_at=run.finished_at,
    )  # fmt: skip
    page = opened(operator, url("run", run.pk))
    assert "The function raised ValueError: no such customer" in page.text
    assert 'File "x.py", line 7' in page.text
    assert f"traceback-{run.attempts.get().pk}" in [each.get("id") for each in page.all("details")]


def test_parameters_and_result(operator):
    run = make_run(State.SUCCEEDED, arguments_json='{"name":"Ada"}', result_json='{"greeting":"Hé 🐝"}')
    text = "".join(opened(operator, url("run", run.pk)).pieces)
    assert '{\n  "name": "Ada"\n}' in text
    assert '"greeting": "Hé 🐝"' in text


@pytest.mark.parametrize("text", ["no json", "[1]", "", "5", "null", "NaN", '"x"', "{"])
def test_what_somebody_has_written_by_sql_has_a_page(operator, text):
    job = make_job(arguments_json=text)
    run = make_run(State.SUCCEEDED, arguments_json=text, result_json=text)
    addresses = (
        url("run", run.pk), url("run_live", run.pk), url("run_json", run.pk), url("run_edit", run.pk),
        url("job", job.pk), url("job_run", job.pk),
    )  # fmt: skip
    for address in addresses:
        assert operator.get(address).status_code == 200, address


def test_a_function_that_is_gone_can_be_looked_at_and_not_edited(operator):
    run = make_run(State.FAILED, task="shop.tasks.gone")
    page = opened(operator, url("run", run.pk))
    assert "shop.tasks.gone (not registered here)" in page.text
    assert url("run_edit", run.pk) not in page.links
    assert url("run_again", run.pk) in page.posted_to
    response = operator.get(url("run_edit", run.pk))
    assert response.url == url("run", run.pk)
    assert "not registered" in told(response)[0]


def test_where_it_comes_from_and_what_came_of_it(operator):
    job = make_job()
    first = make_run(State.FAILED, job_id=job.pk, job_name="Greeting", unique_key="k", submitted_by_name="ann")
    second = make_run(rerun_of_id=first.pk)
    page = opened(operator, url("run", first.pk))
    assert {url("job", job.pk), url("run", second.pk)} <= page.links
    assert "Unique key k" in page.text
    assert "Submitted by ann" in page.text
    assert url("run", first.pk) in opened(operator, url("run", second.pk)).links


def test_no_link_leads_to_a_job_or_a_run_that_is_gone(operator):
    run = make_run(job_id=77, job_name="Deleted", rerun_of_id=88)
    page = opened(operator, url("run", run.pk))
    assert "Deleted" in page.text
    assert "Repeats run 88" in page.text
    assert url("job", 77) not in page.links
    assert url("run", 88) not in page.links


def test_cancelled_by_a_person(operator):
    run = make_run()
    response = operator.post(url("run_cancel", run.pk), {"note": "wrong day"})
    assert (response.url, told(response)) == (url("run", run.pk), ["The run is cancelled and will not start."])
    text = opened(operator, url("run", run.pk)).text
    assert "Cancelled before it started by operator: wrong day." in text
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.actor_name, entry.note) == ("cancel", "operator", "wrong day")


def test_what_works_is_asked_to_end(operator, clock):
    run = make_run(State.RUNNING)
    assert "Ask it to end" in opened(operator, url("run", run.pk)).text
    response = operator.post(url("run_cancel", run.pk), {"note": "wrong day"})
    assert told(response) == ["The run was asked to end. Until its function does, it runs."]
    text = opened(operator, url("run", run.pk)).text
    assert "It was asked to end. It works until its function does." in text
    assert "Ask it to end" not in text
    run.refresh_from_db()
    assert (run.state, run.cancel_requested_at) == ("running", clock.now())
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.actor_name, entry.note) == ("ask to end", "operator", "wrong day")


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"timeout_seconds": 5.0}, "It has timed out and still works: it may take 5 seconds."),
        (
            {"options_json": '{"progress_timeout":4.0}'},
            "It seems stuck and still works: it has told no progress for 4 seconds.",
        ),
    ],
)
def test_one_that_should_have_ended_says_so(operator, clock, columns, sentence):
    run = make_run(State.RUNNING, **columns)
    assert sentence not in opened(operator, url("run", run.pk)).text
    clock.move(7)
    assert sentence in opened(operator, url("run", run.pk)).text


def test_too_late_to_cancel(operator):
    run = make_run(State.FAILED)
    before = Run.objects.values().get()
    assert told(operator.post(url("run_cancel", run.pk))) == ["Too late to cancel: the run has ended."]
    assert Run.objects.values().get() == before
    assert not AuditEntry.objects.exists()


def test_a_second_press_that_meets_a_held_key_is_told_so(operator):
    old = admin_single.enqueue()
    drain()
    operator.post(url("run_again", old.pk), {"press": "one"})
    holder = Run.objects.latest("pk")
    response = operator.post(url("run_again", old.pk), {"press": "other"})
    assert told(response)[-1] == f"Not repeated: run {holder.pk} is unfinished and holds its unique key."


@pytest.mark.parametrize(
    "columns",
    [{"timeout_seconds": 1e300}, {"timeout_seconds": -1.0}, {"options_json": '{"progress_timeout":86399999999999}'}],
    ids=str,
)
@pytest.mark.parametrize("state", [State.RUNNING, State.FAILED])
def test_times_that_somebody_has_written_into_the_row_break_no_page(operator, columns, state):
    run = make_run(state, **columns)
    for name in ("run", "run_live", "run_json"):
        assert operator.get(url(name, run.pk)).status_code == 200
    if state is State.FAILED:
        assert operator.get(url("run_edit", run.pk)).status_code == 200
        assert operator.post(url("run_again", run.pk)).status_code == 302


@pytest.mark.parametrize("columns", [{"backoff_json": "nonsense"}, {"timeout_seconds": -1.0}], ids=str)
def test_a_job_whose_options_cannot_be_read_breaks_no_page_and_says_so(operator, columns):
    job = make_job(**columns)
    assert operator.get(url("jobs")).status_code == 200
    assert f"of the job '{job.name}'" in opened(operator, url("job", job.pk)).text
    (message,) = told(operator.post(url("job_run", job.pk)))
    assert f"of the job '{job.name}'" in message
    assert not Run.objects.exists()


@pytest.mark.parametrize("name", ["run_again", "run_edit"])
def test_one_press_makes_one_run_however_often_it_comes(operator, name):
    run = make_run(State.SUCCEEDED)
    page = Page(operator.get(url("run" if name == "run_again" else name, run.pk)).content.decode())
    sent = {each["name"]: each.get("value", "") for each in page.all("input") if each.get("name")}
    assert sent["press"]
    answers = [operator.post(url(name, run.pk), sent) for _ in range(2)]
    copy = Run.objects.get(rerun_of_id=run.pk)
    assert {answer.url for answer in answers} == {url("run", copy.pk)}
    assert told(answers[1]) == []
    if name == "run_edit":
        edited = operator.post(url(name, run.pk), sent | {"parameter-name": "Grace"})
        assert Run.objects.get(pk=edited.url.split("/")[-2]).arguments["name"] == "Grace"
        Run.objects.filter(pk=edited.url.split("/")[-2]).delete()
    operator.post(url(name, run.pk), sent | {"press": "p" * 10_000 + "\x00"})
    assert Run.objects.filter(rerun_of_id=run.pk).count() == 2


def test_too_early_to_run_again(operator):
    run = make_run()
    (message,) = told(operator.post(url("run_again", run.pk)))
    assert message == f"Run {run.pk} is still queued: it can be run again once it has ended."
    assert Run.objects.count() == 1


def test_run_again(operator):
    old = failed_with("no", priority=5, queue="q")
    before = Run.objects.values().get()
    response = operator.post(url("run_again", old.pk), {"note": "the rates were wrong"})
    new = Run.objects.latest("pk")
    assert response.url == url("run", new.pk)
    assert Run.objects.filter(pk=old.pk).values().get() == before
    assert (new.rerun_of_id, new.priority, new.queue, new.arguments) == (old.pk, 5, "q", {"name": "Ada"})
    assert new.submitted_by_name == "operator"
    assert AuditEntry.objects.get().note == "the rates were wrong"


def test_run_again_while_another_holds_the_unique_key(operator):
    first = admin_single.enqueue()
    drain()
    holder = admin_single.enqueue()
    response = operator.post(url("run_again", first.pk))
    assert response.url == url("run", holder.pk)
    assert told(response) == [f"Not repeated: run {holder.pk} is unfinished and holds its unique key."]
    assert Run.objects.count() == 2


def test_notes_that_are_too_long_are_cut(operator):
    run = make_run()
    operator.post(url("run_cancel", run.pk), {"note": "x" * 2000})
    assert AuditEntry.objects.get().note == "x" * 500


def test_the_state_as_json(operator, clock):
    run = failed_with("no", job_name="Nightly", progress_done=1.0, due_at=clock.now() - timedelta(1), result_json="[1]")
    told = operator.get(url("run_json", run.pk)).json()
    assert told == {
        "id": run.pk, "task": run.task, "job": "Nightly", "state": "failed", "is_finished": True,
        "reason_code": "function_raised", "reason": "The function raised ValueError: no", "queue": "default",
        "priority": 0, "order_key": str(run.order_key), "attempt": 1, "max_attempts": 1, "timeout_seconds": None,
        "cancel_requested_at": None, "enqueued_at": "2027-01-01T00:00:00Z",
        "due_at": "2026-12-31T00:00:00Z", "started_at": "2027-01-01T00:00:00Z", "finished_at": "2027-01-01T00:00:00Z",
        "progress": {"done": 1.0, "total": None, "message": ""}, "arguments": {"name": "Ada"}, "result": [1],
    }  # fmt: skip


def test_the_worker_is_named_as_long_as_it_is_known(operator):
    worker = make_worker(name="host:77")
    run = make_run(State.RUNNING, worker_id=worker.pk)
    assert "Worker host:77" in opened(operator, url("run", run.pk)).text
    worker.delete()
    assert "host:77" not in opened(operator, url("run", run.pk)).text


def test_a_function_is_named_by_its_label_and_never_called(operator, monkeypatch):
    task = registry.get("tests.tasks.admin_greet")
    monkeypatch.setattr(task, "func", lambda *args, **kwargs: pytest.fail("a template has called the function"))
    run, job = make_run(State.FAILED), make_job()
    for address in (
        url("dashboard"), url("runs"), url("run", run.pk), url("run_edit", run.pk), url("jobs"), url("job", job.pk),
        url("job_run", job.pk), url("submit"), url("submit_task", task.name),
    ):  # fmt: skip
        assert operator.get(address).status_code == 200
    assert f"Greet #{run.pk}" in opened(operator, url("runs")).text
    assert json.loads(run.arguments_json) == {"name": "Ada"}
