"""Nothing that fails ends the scheduler's thread; it says so once a step and tries again."""

import logging
from datetime import timedelta

import pytest
from django.db import InterfaceError, OperationalError

from jobs.models import Worker
from jobs.runtime import pause
from jobs.runtime import scheduler as module
from jobs.runtime.dispatcher import Dispatcher
from tests.runtime.support import PATIENCE, states

pytestmark = pytest.mark.django_db(transaction=True)

ERRORS = [
    OperationalError("gone away"),
    InterfaceError("closed"),
    RuntimeError("a fault of ours"),
    ValueError("a fault of ours"),
]


def words(error):
    return type(error).__name__


@pytest.mark.parametrize("error", ERRORS, ids=words)
@pytest.mark.parametrize(
    "step", ["claims.claim", "finish", "agenda.next_moment", "promote.promote", "workers.paused_queues"]
)
def test_an_error_in_the_loop_is_waited_out(start, ok, fail, step, error):
    from jobs.runtime import agenda, dispatcher

    *owner, name = step.split(".")
    module = agenda if owner == ["agenda"] or owner == ["promote"] else dispatcher
    owner = getattr(module, owner[0], module) if owner else module
    runs = [*ok.enqueue_many([{}] * 2), ok.using(run_after=timedelta(milliseconds=20)).enqueue()]
    failing = fail(owner, name, error, times=1)
    scheduler = start(threads=1)
    for run in runs:
        assert run.wait(PATIENCE).state == "succeeded"
        assert run.claim_no == 1
    failing.wait_for(1)
    assert not scheduler.stopped.is_set()


def test_an_error_while_it_sleeps_is_waited_out(start, ok, fail):
    from jobs.runtime.wakeups import Wakeup

    failing = fail(Wakeup, "wait", OperationalError("gone away"), times=1)
    scheduler = start(threads=1)
    failing.wait_for(1)
    assert ok.enqueue().wait(PATIENCE).state == "succeeded"
    assert not scheduler.stopped.is_set()


def test_one_line_a_step_and_the_steps_grow(start, ok, fail, caplog, monkeypatch):
    pauses = []
    monkeypatch.setattr(pause, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(pause, "LONGEST_PAUSE", 0.004)
    next_pause = pause.Pause.next
    monkeypatch.setattr(pause.Pause, "next", lambda self: pauses.append(next_pause(self)) or pauses[-1])
    failing = fail(Dispatcher, "cycle", OperationalError("gone away"))
    with caplog.at_level(logging.INFO, "jobs"):
        start(threads=1)
        ok.enqueue().wait(PATIENCE)
        caplog.clear()
        failing.is_on.set()
        failing.wait_for(6)
        failing.is_on.clear()
        ok.enqueue().wait(PATIENCE)
    lines = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(lines) == len(pauses)
    assert pauses[:5] == [0.001, 0.002, 0.004, 0.004, 0.004]
    assert "OperationalError: gone away" in lines[0].getMessage()
    pauses.clear()
    failing.is_on.set()
    failing.wait_for(1)
    failing.is_on.clear()
    ok.enqueue().wait(PATIENCE)
    assert pauses[0] == 0.001  # from the beginning again


def test_an_outcome_is_kept_through_an_outage(start, task, gate, fail):
    @task
    def hold():
        gate()
        return "the outcome"

    failing = fail(Dispatcher, "cycle", OperationalError("gone away"))
    run = hold.enqueue()
    start(threads=1)
    gate.wait_until_entered()
    failing.is_on.set()
    gate.open()
    failing.wait_for(2)
    failing.is_on.clear()
    run.wait(PATIENCE)
    assert (run.state, run.result, run.claim_no) == ("succeeded", "the outcome", 1)


class TestStopsDuringAnOutage:
    @pytest.fixture(autouse=True)
    def short(self, monkeypatch):
        monkeypatch.setattr(module, "LAST_WRITE_SECONDS", 0.2)
        monkeypatch.setattr(pause, "LONGEST_PAUSE", 0.1)

    def test_an_idle_one_leaves_without_the_last_write(self, start, ok, fail, caplog):
        failing = fail(Dispatcher, "cycle", OperationalError("gone away"))
        scheduler = start(threads=1)
        ok.enqueue().wait(PATIENCE)
        failing.is_on.set()
        assert scheduler.stop(1000) is True
        assert "leaving without handing back" in caplog.text
        assert Worker.objects.get().state == "alive"  # others will see that it is not

    def test_a_busy_one_waits_for_its_function_and_for_the_database(self, start, task, gate, fail):
        @task
        def hold():
            gate()

        failing = fail(Dispatcher, "cycle", OperationalError("gone away"))
        run = hold.enqueue()
        scheduler = start(threads=1)
        gate.wait_until_entered()
        failing.is_on.set()
        failing.wait_for(4)  # longer than LAST_WRITE_SECONDS, before and after the stop
        scheduler.request_stop(PATIENCE)
        failing.wait_for(4)
        gate.open()
        failing.wait_for(1)
        failing.is_on.clear()
        assert scheduler.stopped.wait(PATIENCE)
        assert states([run]) == ["succeeded"]

    def test_it_leaves_when_the_grace_is_over_as_well(self, start, task, gate, fail):
        @task
        def hold():
            gate()

        failing = fail(Dispatcher, "cycle", OperationalError("gone away"))
        run = hold.enqueue()
        scheduler = start(threads=1)
        gate.wait_until_entered()
        failing.is_on.set()
        assert scheduler.stop(0.2) is True
        assert states([run]) == ["running"]  # it is rescued like one of a worker that was killed

    def test_before_it_has_begun(self, start, fail):
        failing = fail(module, "_has_tables", OperationalError("gone away"))
        failing.is_on.set()
        scheduler = start(threads=1)
        failing.wait_for(2)
        assert scheduler.stop(1000) is True
        assert not Worker.objects.exists()
