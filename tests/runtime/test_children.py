"""Child processes that cannot be had, or have died while nobody used them."""

import os
import signal

import pytest

from jobs.runtime.executors import processes
from tests.runtime.support import PATIENCE, wait_until
from tests.tasks_of_executors import do

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def in_processes(settings):
    settings.JOBS = settings.JOBS | {"EXECUTOR": "processes"}


def test_where_no_process_can_be_started_the_run_waits_until_one_can(start, monkeypatch, caplog):
    refusals, child = [1, 2, 3], processes.Child

    def refuse(site):
        if refusals:
            refusals.pop()
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return child(site)

    monkeypatch.setattr(processes, "Child", refuse)
    monkeypatch.setattr(processes, "REFUSED_SECONDS", 0.01)
    run = do.enqueue(deed="return")
    start(threads=1)
    run.wait(PATIENCE)
    assert (run.state, run.losses, run.failures, refusals) == ("succeeded", 0, 0, [])
    assert "Resource temporarily unavailable" in caplog.text


def test_one_that_died_while_it_was_idle_is_replaced(start):
    start(threads=1)
    assert do.enqueue(deed="return").wait(PATIENCE).state == "succeeded"
    wait_until(lambda: len(processes._alive) == 1)
    (idle,) = processes._alive
    os.kill(idle._process.pid, signal.SIGKILL)
    wait_until(lambda: not idle.is_alive)
    run = do.enqueue(deed="return").wait(PATIENCE)
    assert (run.state, run.losses) == ("succeeded", 0)


def test_a_fork_forgets_them(start):
    """They are another process's: its end must not be theirs."""
    start(threads=1)
    do.enqueue(deed="return").wait(PATIENCE)
    (idle,) = processes._alive
    pid = os.fork()
    if pid == 0:
        os._exit(len(processes._alive))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert idle.is_alive
