"""What one run does to the whole process must not reach the others."""

import logging
import sys

import pytest
from django.db import OperationalError

from jobs.runtime.dispatcher import Dispatcher

pytestmark = pytest.mark.django_db(transaction=True)


class Raising(logging.Handler):
    def emit(self, record):
        raise RuntimeError("the log server is away")


def test_a_log_handler_that_raises_does_not_end_the_dispatcher(start, ok, monkeypatch):
    """During an outage the dispatcher logs."""
    cycle, failures = Dispatcher.cycle, [OperationalError("gone away")]
    monkeypatch.setattr(Dispatcher, "cycle", lambda self: cycle(self) if not failures else fail(failures))
    logger, handler = logging.getLogger("jobs"), Raising()
    logger.addHandler(handler)
    try:
        scheduler = start(threads=1)
        assert ok.enqueue().wait(5).state == "succeeded"
        assert not scheduler.stopped.is_set()
    finally:
        logger.removeHandler(handler)


def fail(failures):
    raise failures.pop()


def test_a_recursion_limit_does_not_reach_the_next_run(start, task, ok):
    """It is the process's: with a low one the dispatcher itself could not work any more."""
    before = sys.getrecursionlimit()

    @task
    def low():
        sys.setrecursionlimit(150)

    try:
        runs = [low.enqueue(), ok.enqueue()]
        start(threads=1)
        for run in runs:
            run.wait(5)
        assert [run.state for run in runs] == ["succeeded"] * 2
        assert sys.getrecursionlimit() == before
    finally:
        sys.setrecursionlimit(before)
