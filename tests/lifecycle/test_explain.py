"""Why a run waits, told to people."""

from datetime import timedelta

import pytest

from jobs.core.states import WAITING, State
from jobs.lifecycle import explain, pause, resume
from jobs.lifecycle.explain import why_waiting
from jobs.models import Worker
from tests.lifecycle.support import new_worker, stored

pytestmark = pytest.mark.django_db
NEXT = "It is the next of its queue."
NOBODY = "Nobody works: no worker has given a sign of life lately."


@pytest.fixture
def worker(clock) -> Worker:
    return new_worker()


def test_the_next_of_its_queue(worker):
    assert why_waiting(stored()) == [NEXT]


def test_how_many_come_before_it(worker):
    first, second, third = stored(), stored(), stored(priority=-1)
    assert why_waiting(third) == [NEXT]
    assert why_waiting(first) == ["1 run of its queue comes before it."]
    assert why_waiting(second) == ["2 runs of its queue come before it."]


def test_only_ready_runs_of_its_own_queue_come_before_it(worker):
    for state in State:
        if state != State.QUEUED:
            stored(state=state, priority=-5)
    stored(queue="other", priority=-5)
    stored(priority=5)
    assert why_waiting(stored()) == [NEXT]


def test_with_equal_keys_the_older_one_comes_first(worker):
    runs = [stored(order_key=5) for _ in range(3)]
    assert [why_waiting(run)[0][:6] for run in runs] == [NEXT[:6], "1 run ", "2 runs"]


def test_many_are_not_counted_to_the_end(worker, monkeypatch):
    monkeypatch.setattr(explain, "MOST_COUNTED", 2)
    for _ in range(4):
        stored()
    assert why_waiting(stored()) == ["2 runs or more of its queue come before it."]


def test_nobody_works(clock):
    assert why_waiting(stored()) == [NOBODY]


def test_a_worker_that_has_gone_silent_is_nobody(clock, worker):
    run = stored()
    assert why_waiting(run) == [NEXT]
    clock.move(10)
    assert why_waiting(run) == [NOBODY]
    Worker.objects.update(beat_at=clock.now())
    assert why_waiting(run) == [NEXT]


@pytest.mark.parametrize("state", ["stopping", "stopped", "dead"])
def test_a_worker_that_starts_nothing_more_is_nobody(worker, state):
    Worker.objects.update(state=state)
    assert why_waiting(stored()) == [NOBODY]


def test_no_worker_for_its_queue(clock):
    new_worker(queues=["mail", "reports"])
    assert why_waiting(stored(queue="slow"))[0] == "No worker that is alive serves its queue slow."
    assert why_waiting(stored(queue="mail")) == [NEXT]
    new_worker()
    assert why_waiting(stored(queue="slower")) == [NEXT]


def test_a_paused_queue(worker):
    run = stored(queue="mail")
    pause("mail", reason="the server moves", actor="Ada")
    assert why_waiting(run) == ["Its queue mail was paused by Ada: the server moves."]
    pause("mail")
    assert why_waiting(run) == ["Its queue mail was paused."]
    assert why_waiting(stored()) == [NEXT]
    resume("mail")
    assert why_waiting(run) == [NEXT]


def test_what_keeps_it_most_is_told_first(clock):
    stored(queue="mail")
    run = stored(queue="mail")
    pause("mail", reason="full")
    new_worker(queues=["other"])
    first, second, third = why_waiting(run)
    assert "paused: full" in first
    assert "No worker" in second
    assert "1 run" in third


def test_its_time_has_not_come(worker, clock):
    run = stored(state=State.SCHEDULED, due_at=clock.now() + timedelta(hours=1))
    assert why_waiting(run) == ["Its time has not come yet."]


@pytest.mark.parametrize("state", sorted(set(State) - WAITING))
def test_what_does_not_wait_needs_no_reason(worker, state):
    assert why_waiting(stored(state=state)) == []
