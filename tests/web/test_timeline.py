"""The story of a run, as a list of events and as a bar."""

from datetime import timedelta

import pytest

from jobs.core.states import State
from jobs.models import Attempt, Run
from jobs.web.timeline import events, segments


@pytest.fixture
def at(clock):
    start = clock.now()
    return lambda seconds: start + timedelta(seconds=seconds)


def run(at, state: State, *, started=None, finished=None, due=None, **columns) -> Run:
    times = {"started_at": started, "finished_at": finished, "due_at": due}
    times = {name: None if seconds is None else at(seconds) for name, seconds in times.items()}
    return Run(state=state.value, enqueued_at=at(0), **times, **columns)


def attempt(at, number, ended, *, started=None, outcome="failed", **columns) -> Attempt:
    started_at = None if started is None else at(started)
    return Attempt(number=number, outcome=outcome, started_at=started_at, ended_at=at(ended), **columns)


def told(at, *arguments) -> list[tuple]:
    return [((event.at - at(0)).total_seconds(), event.kind, event.text) for event in events(*arguments)]


def drawn(*arguments) -> list[tuple]:
    return [
        (each.kind, round(each.start), round(each.width), each.label.partition(":")[0]) for each in segments(*arguments)
    ]


def test_waiting(at, clock):
    waiting = run(at, State.QUEUED, submitted_by_name="ann")
    assert told(at, waiting, []) == [(0, "enqueued", "Enqueued by ann")]
    assert drawn(waiting, []) == []
    clock.move(10)
    assert drawn(waiting, []) == [("waiting", 0, 100, "Waiting")]
    assert segments(waiting, [])[0].label == "Waiting: 0:00:10"


def test_delayed(at, clock):
    delayed = run(at, State.SCHEDULED, due=60)
    clock.move(10)
    assert told(at, delayed, []) == [(0, "enqueued", "Enqueued"), (60, "due", "Due")]
    assert drawn(delayed, []) == [("waiting", 0, 100, "Waiting")]


def test_a_time_that_had_come_at_the_enqueue_is_no_event(at):
    assert told(at, run(at, State.QUEUED, due=-5), []) == [(0, "enqueued", "Enqueued")]


def test_running(at, clock):
    running = run(at, State.RUNNING, started=4)
    clock.move(10)
    assert told(at, running, []) == [(0, "enqueued", "Enqueued"), (4, "started", "Attempt 1 started")]
    assert drawn(running, []) == [("waiting", 0, 40, "Waiting"), ("running", 40, 60, "Attempt 1")]


def test_succeeded(at, clock):
    ended = run(at, State.SUCCEEDED, started=3, finished=4)
    clock.move(1000)
    assert told(at, ended, [])[1:] == [(3, "started", "Attempt 1 started"), (4, "succeeded", "Succeeded")]
    assert drawn(ended, []) == [("waiting", 0, 75, "Waiting"), ("succeeded", 75, 25, "Attempt 1")]


def test_failed_once(at):
    failed = run(at, State.FAILED, started=5, finished=10, failures=1)
    tries = [attempt(at, 1, 10, started=5, worker_name="host:1")]
    assert told(at, failed, tries) == [
        (0, "enqueued", "Enqueued"),
        (5, "started", "Attempt 1 started on host:1"),
        (10, "failed", "Attempt 1: failed"),
        (10, "failed", "Failed"),
    ]
    assert drawn(failed, tries) == [("waiting", 0, 50, "Waiting"), ("failed", 50, 50, "Attempt 1")]


def test_lost_twice_then_succeeded(at):
    ended = run(at, State.SUCCEEDED, started=80, finished=100, losses=2)
    tries = [attempt(at, 1, 20, started=10, outcome="lost"), attempt(at, 2, 60, started=40, outcome="lost")]
    assert told(at, ended, tries) == [
        (0, "enqueued", "Enqueued"),
        (10, "started", "Attempt 1 started"),
        (20, "failed", "Attempt 1: its worker was lost"),
        (40, "started", "Attempt 2 started"),
        (60, "failed", "Attempt 2: its worker was lost"),
        (80, "started", "Attempt 3 started"),
        (100, "succeeded", "Succeeded"),
    ]
    assert drawn(ended, tries) == [
        ("waiting", 0, 10, "Waiting"),
        ("failed", 10, 10, "Attempt 1"),
        ("waiting", 20, 20, "Waiting"),
        ("failed", 40, 20, "Attempt 2"),
        ("waiting", 60, 20, "Waiting"),
        ("succeeded", 80, 20, "Attempt 3"),
    ]


def test_lost_and_waiting_again(at, clock):
    """What is left of the lost attempt in the run itself is no second one."""
    waiting = run(at, State.QUEUED, started=10, losses=1)
    clock.move(40)
    tries = [attempt(at, 1, 20, started=10, outcome="lost")]
    assert [text for _, _, text in told(at, waiting, tries)] == [
        "Enqueued", "Attempt 1 started", "Attempt 1: its worker was lost",
    ]  # fmt: skip
    assert drawn(waiting, tries) == [
        ("waiting", 0, 25, "Waiting"), ("failed", 25, 25, "Attempt 1"), ("waiting", 50, 50, "Waiting"),
    ]  # fmt: skip


def test_cancelled_before_it_started(at, clock):
    cancelled = run(at, State.CANCELLED, finished=30)
    clock.move(1000)
    assert told(at, cancelled, []) == [(0, "enqueued", "Enqueued"), (30, "cancelled", "Cancelled")]
    assert drawn(cancelled, []) == [("waiting", 0, 100, "Waiting")]


def test_cancelled_after_a_loss(at):
    cancelled = run(at, State.CANCELLED, started=10, finished=40, losses=1)
    tries = [attempt(at, 1, 20, started=10, outcome="lost")]
    assert drawn(cancelled, tries) == [
        ("waiting", 0, 25, "Waiting"), ("failed", 25, 25, "Attempt 1"), ("waiting", 50, 50, "Waiting"),
    ]  # fmt: skip


def test_attempts_that_did_not_start(at, clock):
    """A run whose function is not registered: the attempt has an end and no start."""
    failed = run(at, State.FAILED, finished=10, failures=1)
    tries = [attempt(at, 1, 10)]
    assert told(at, failed, tries) == [
        (0, "enqueued", "Enqueued"), (10, "failed", "Attempt 1: failed"), (10, "failed", "Failed"),
    ]  # fmt: skip
    assert drawn(failed, tries) == [("waiting", 0, 100, "Waiting")]


def test_clocks_that_disagree_draw_nothing_beyond_the_bar(at, clock):
    """The worker's clock stands five seconds behind the one of the enqueuing process."""
    for ended in (run(at, State.SUCCEEDED, started=-5, finished=10), run(at, State.SUCCEEDED, started=-5, finished=-3)):
        for each in segments(ended, []):
            assert each.start >= 0
            assert each.width >= 0
            assert each.start + each.width <= 100.001
        assert len(events(ended, [])) == 3


def test_the_parts_of_a_bar_follow_each_other(at):
    ended = run(at, State.SUCCEEDED, started=80, finished=100, losses=2)
    tries = [attempt(at, 1, 20, started=10, outcome="lost"), attempt(at, 2, 60, started=40, outcome="lost")]
    end = 0
    for each in segments(ended, tries):
        assert each.start == pytest.approx(end)
        end = each.start + each.width
    assert end == pytest.approx(100)
