"""The start of a scheduler: it becomes a worker as soon as the database allows it, once."""

import logging
import threading

import pytest
from django.db import DatabaseError, InterfaceError, OperationalError

from jobs.core import wake
from jobs.core.priority import PriorityScheduler
from jobs.lifecycle.ageing import AgeingMismatch
from jobs.models import SiteState, Worker
from jobs.runtime import scheduler as module
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
    if isinstance(error, DatabaseError | InterfaceError):  # expected now and then, and told without a traceback
        assert len(caplog.records) == 2


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


def test_a_start_that_fails_half_way_leaves_nothing_behind(start, ok, fail):
    """No thread left to give, for a while."""
    failing = fail(PriorityScheduler, "start", RuntimeError("can't start new thread"), times=3)
    before = len(wake._wakers)
    start(threads=1)
    assert ok.enqueue().wait(PATIENCE).state == "succeeded"
    failing.wait_for(3)
    assert Worker.objects.count() == 1
    assert len(wake._wakers) == before + 1
