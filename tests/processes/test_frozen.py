"""A worker that is slow lives; one that is frozen for too long loses its runs, and does no harm when it thaws."""

import os
import signal
import sqlite3

import pytest
from django.db import connection

from jobs.models import Worker
from tests.processes.support import PATIENCE
from tests.runtime.support import wait_until
from tests.tasks import runtime_hold, runtime_mark

QUICK = {"JOBS_HEARTBEAT_SECONDS": "0.25", "JOBS_LOST_AFTER_SECONDS": "1"}


def beats(process) -> int:
    return Worker.objects.filter(pid=process.pid).latest("pk").beats


def test_a_function_that_takes_longer_than_a_silence_may_is_executed_once(site):
    workers = [site.runscheduler(**QUICK) for _ in range(2)]
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    before = [beats(each) for each in workers]
    wait_until(lambda: all(beats(each) >= start + 12 for each, start in zip(workers, before, strict=True)), PATIENCE)
    site.open_gate()  # three times LOST_AFTER_SECONDS later
    assert run.wait(PATIENCE).state == "succeeded"
    assert (run.losses, site.executions()) == (0, {run.pk: 1})
    assert set(Worker.objects.values_list("state", flat=True)) == {"alive"}


def freeze(process) -> None:
    """Stop it, but not in the middle of a write: on SQLite nobody else could write then."""
    name = connection.settings_dict["NAME"]
    for _ in range(100):
        os.kill(process.pid, signal.SIGSTOP)
        other = sqlite3.connect(name, timeout=1.0, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
            return
        except sqlite3.OperationalError:
            os.kill(process.pid, signal.SIGCONT)
        finally:
            other.close()
    raise AssertionError("it is always writing")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="looks for SQLite's lock")
def test_a_frozen_worker_thaws_after_its_run_was_taken(site):
    frozen = site.runscheduler("--threads", "1", **QUICK)
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    other = site.runscheduler("--threads", "1", **QUICK)
    freeze(frozen)
    wait_until(lambda: site.executions()[run.pk] == 2, PATIENCE)
    frozen.send(signal.SIGCONT)
    site.open_gate(attempt=1)
    wait_until(lambda: site.executions("ended")[run.pk] == 1, PATIENCE)
    wait_until(lambda: "was taken for dead: it drops what it held" in frozen.output, PATIENCE)
    run.refresh_from_db()
    assert (run.state, run.worker_id) == ("running", Worker.objects.get(pid=other.pid).pk)

    site.open_gate(attempt=2)
    run.wait(PATIENCE)
    assert (run.state, run.result, run.losses, run.failures) == ("succeeded", other.pid, 1, 0)
    assert run.attempts.get().outcome == "lost"
    # The old identity is dead, and the process goes on as a new worker.
    assert list(Worker.objects.filter(pid=frozen.pid).order_by("pk").values_list("state", flat=True)) == [
        "dead",
        "alive",
    ]
    assert other.ends_by(signal.SIGTERM, within=10) == 0
    assert runtime_mark.enqueue().wait(PATIENCE).result == frozen.pid
