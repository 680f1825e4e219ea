"""What holds wherever a function is executed: inline, in a thread, in a child process, on the event loop."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from jobs.core.texts import visible
from jobs.models import Job, Run, RunLog
from jobs.testing import drain
from tests.runtime.support import PATIENCE, in_order
from tests.tasks_of_executors import DEEDS, NASTY, SYNCHRONOUS, do, do_async, typed, wait_for

pytestmark = pytest.mark.django_db(transaction=True)

SHORT = timedelta(seconds=0.05)
EXECUTORS = ["inline", "threads", "processes", "event loop", "event loop of a process"]


@pytest.fixture(params=EXECUTORS)
def executor(request):
    return request.param


@pytest.fixture
def doing(executor):
    """The function that does a deed there."""
    return do_async if executor.startswith("event loop") else do


@pytest.fixture
def work(executor, start, settings):
    """Execute these runs there, one after the other, until all have ended."""

    def work(*runs):
        if executor == "inline":
            drain()
        else:
            kind = "processes" if "process" in executor else "threads"
            settings.JOBS = settings.JOBS | {"EXECUTOR": kind}
            start(threads=1)
        for run in runs:
            run.wait(PATIENCE)

    return work


# For each deed the state of the run, its reason, its result, its failures, and of its attempts how they ended, which
# class was raised, and what was said.
ENDS = {
    "return": ("succeeded", "", {"a": [1, "x", None]}, 0, []),
    "return nothing": ("succeeded", "", None, 0, []),
    "return an object": ("succeeded", "result_not_stored", None, 0, []),
    "return too much": ("succeeded", "result_not_stored", None, 0, []),
    "return nasty text": ("succeeded", "", NASTY, 0, []),
    "raise": ("failed", "function_raised", None, 2, [("failed", "ValueError", "no")] * 2),
    "raise nasty text": ("failed", "function_raised", None, 2, [("failed", "ValueError", visible(NASTY))] * 2),
    "raise what cannot be pickled": (
        "failed", "function_raised", None, 2, [("failed", "tests.tasks_of_executors.Unpicklable", "has a lock")] * 2,
    ),
    "raise what has no text": (
        "failed", "function_raised", None, 2,
        [("failed", "tests.tasks_of_executors.Unspeakable", "(its text could not be made: RuntimeError)")] * 2,
    ),
    "exit": ("failed", "function_raised", None, 1, [("failed", "SystemExit", "3")]),
    "Ctrl-C": ("failed", "function_raised", None, 1, [("failed", "KeyboardInterrupt", "")]),
    "give up": ("failed", "gave_up", None, 1, [("failed", "jobs.errors.GiveUp", "never")]),
    "retry": ("failed", "function_raised", None, 2, [("failed", "jobs.errors.Retry", "later")] * 2),
    "succeed at the second time": ("succeeded", "", 2, 1, [("failed", "jobs.errors.Retry", "")]),
    "snooze": ("succeeded", "", 2, 0, [("snoozed", "", "not yet")]),
    "cancel": ("cancelled", "stopped_itself", None, 0, [("cancelled", "", "nothing to do")]),
}  # fmt: skip


def end_of(run: Run) -> tuple:
    told = [(each.outcome, each.error_class, each.message) for each in run.attempts.order_by("number")]
    return run.state, run.reason_code, run.result, run.failures, told


def test_every_end_of_a_function_is_stored_alike(doing, work):
    runs = {deed: doing.using(backoff=timedelta(microseconds=1)).enqueue(deed=deed) for deed in DEEDS}
    work(*runs.values())
    assert {deed: end_of(runs[deed]) for deed in ENDS} == ENDS

    much = runs["raise much text"]
    assert (much.state, much.failures) == ("failed", 2)
    assert all(len(attempt.message) < 5000 for attempt in much.attempts.all())

    told = runs["tell"]
    assert told.result == [True, 1, doing.name.rpartition(".")[2], False, None]
    assert (told.progress_done, told.progress_total, told.progress_message) == (1, 3, visible(NASTY))
    log = "".join(RunLog.objects.filter(run=told).order_by("number").values_list("text", flat=True))
    assert f"WARNING tests.tasks_of_executors: {visible(NASTY)}\n" in log


def test_one_whose_time_is_over_is_told_so(doing, work):
    run = doing.using(timeout=SHORT, max_attempts=1).enqueue(deed="listen")
    work(run)
    assert end_of(run) == (
        "failed", "timed_out", None, 1,
        [("failed", "jobs.errors.TimedOut", "The run took longer than 0.05 seconds.")],
    )  # fmt: skip


def test_they_start_in_their_order(doing, work):
    runs = [doing.using(priority=priority).enqueue(deed="return") for priority in (3, -1, 0, 3, -1)]
    work(*runs)
    started = Run.objects.order_by("started_at", "pk").values_list("pk", flat=True)
    assert list(started) == in_order(runs)


SYNCHRONOUS_EXECUTORS = pytest.mark.parametrize("executor", ["inline", "threads", "processes"], indirect=True)


@SYNCHRONOUS_EXECUTORS
def test_parameters_come_as_they_were_given(work):
    run = typed.enqueue(day=date(2026, 2, 3), amount=Decimal("1.50"), numbers=[1, 2])
    work(run)
    assert run.result == ["date", "Decimal", "list", "int", "NoneType"]


@pytest.mark.parametrize("executor", ["threads", "processes"], indirect=True)
def test_what_one_leaves_open_does_not_reach_the_next(work):
    assert list(SYNCHRONOUS) == ["leave a transaction"]
    runs = [do.enqueue(deed=deed) for deed in ("leave a transaction", "return")]
    work(*runs)
    assert [run.state for run in runs] == ["succeeded"] * 2
    assert not Job.objects.filter(name="never committed").exists()


@SYNCHRONOUS_EXECUTORS
def test_waiting_for_another_run_without_a_free_thread_is_told_at_once(work):
    other = do.using(queue="nobody serves it", run_after=timedelta(days=1)).enqueue(deed="return")
    run = wait_for.enqueue(number=other.pk)
    work(run)
    assert (run.state, run.attempts.get().error_class) == ("failed", "jobs.lifecycle.waiting.NoFreeThread")
    assert f"Run {run.pk} cannot wait for run {other.pk}: " in run.attempts.get().message
    assert "or raise jobs.Snooze and look again later." in run.attempts.get().message
