"""Nothing that fails ends the scheduler's thread; it says so once a step and tries again."""

import logging
import threading

import pytest
from django.db import InterfaceError, OperationalError

from jobs.lifecycle.ageing import AgeingMismatch
from jobs.models import SiteState, Worker
from jobs.runtime import scheduler as module
from jobs.runtime.dispatcher import Dispatcher
from jobs.runtime.scheduler import Scheduler
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


class Failing:
    """Stands for a function; fails when asked to, and counts."""

    def __init__(self, original, error, times=None):
        self.original, self.error, self.times = original, error, times
        self.is_on = threading.Event()
        self.failures = threading.Semaphore(0)

    def __call__(self, *args, **kwargs):
        if self.is_on.is_set() and self.times != 0:
            if self.times is not None:
                self.times -= 1
            self.failures.release()
            raise self.error
        return self.original(*args, **kwargs)

    def wait_for(self, number: int) -> None:
        for _ in range(number):
            assert self.failures.acquire(timeout=PATIENCE)


@pytest.fixture
def fail(monkeypatch):
    """Have a step of the scheduler fail so many times, or while `is_on`."""

    def fail(owner, name, error, times=None):
        failing = Failing(getattr(owner, name), error, times)
        # A class's function must stay one, to get its `self`.
        replacement = (lambda *args, **kwargs: failing(*args, **kwargs)) if isinstance(owner, type) else failing
        monkeypatch.setattr(owner, name, replacement)
        if times is not None:
            failing.is_on.set()
        return failing

    return fail


@pytest.mark.parametrize("error", ERRORS, ids=words)
@pytest.mark.parametrize("step", ["_has_tables", "check_ageing"])
def test_an_error_at_the_start_is_waited_out(start, ok, fail, caplog, step, error):
    failing = fail(module, step, error, times=2)
    run = ok.enqueue()
    scheduler = start(threads=1)
    assert run.wait(PATIENCE).state == "succeeded"
    failing.wait_for(2)
    assert not scheduler.stopped.is_set()
    assert Worker.objects.count() == 1
    assert len([each for each in caplog.records if "next try in" in each.getMessage()]) == 2


@pytest.mark.parametrize("error", ERRORS, ids=words)
@pytest.mark.parametrize("step", ["claims.claim", "finish", "promote", "next_due_at", "workers.paused_queues"])
def test_an_error_in_the_loop_is_waited_out(start, ok, fail, step, error):
    import jobs.runtime.dispatcher as dispatcher

    *owner, name = step.split(".")
    owner = getattr(dispatcher, owner[0]) if owner else dispatcher
    runs = ok.enqueue_many([{}] * 3)
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
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.004)
    next_pause = module._Pause.next
    monkeypatch.setattr(module._Pause, "next", lambda self: pauses.append(next_pause(self)) or pauses[-1])
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
        monkeypatch.setattr(module, "LONGEST_PAUSE", 0.1)

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


def test_a_stop_before_the_thread_has_begun(ok):
    scheduler = Scheduler(kind="test", threads=1)
    scheduler.request_stop()
    scheduler.start()
    assert scheduler.stopped.wait(PATIENCE)
    assert not Worker.objects.exists()


def test_tables_that_are_not_there_yet_are_waited_for(start, ok, monkeypatch, caplog):
    are_there = threading.Event()
    looks = threading.Semaphore(0)

    def has_tables():
        looks.release()
        return are_there.is_set()

    monkeypatch.setattr(module, "_has_tables", has_tables)
    monkeypatch.setattr(module, "TABLES_PAUSE", 0.01)
    run = ok.enqueue()
    with caplog.at_level(logging.INFO, "jobs"):
        start(threads=1)
        for _ in range(5):
            assert looks.acquire(timeout=PATIENCE)
        assert states([run]) == ["queued"]
        are_there.set()
        assert run.wait(PATIENCE).state == "succeeded"
    assert caplog.text.count("tables of jobs are not there yet") == 1


def test_another_ageing_is_refused(start, ok, caplog):
    SiteState.objects.create(pk="ageing_microseconds", value="600000000")
    run = ok.enqueue()
    scheduler = start(threads=1)
    assert scheduler.stopped.wait(PATIENCE)
    assert isinstance(scheduler.refusal, AgeingMismatch)
    assert "rekeyruns" in caplog.text
    assert states([run]) == ["queued"]
    assert not Worker.objects.exists()
