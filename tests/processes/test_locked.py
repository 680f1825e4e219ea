"""Somebody else holds a lock for longer than a silence may last: all others go on, and nobody is taken for dead."""

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from threading import Event, Thread

import pytest
from django.db import connection, connections
from django.test import Client

from jobs.core.states import UNFINISHED
from jobs.models import Run, Worker
from tests.browser.server import make_user
from tests.processes import tasks
from tests.processes.checks import (
    BEAT,
    LISTENER,
    SILENCE,
    WORKERS,
    nobody_was_lost,
    one_line_a_step,
    steps,
    wait_for_beats,
)
from tests.processes.locks import is_anybody_waiting, locked
from tests.processes.support import PATIENCE, SWIFT
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

# A sign of life in every transaction.
BEATS_ALWAYS = {"JOBS_HEARTBEAT_SECONDS": "0.0001", "JOBS_LOST_AFTER_SECONDS": "30"}
LONGER = int(1.5 * SILENCE / BEAT)  # in beats

one_row = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one lock for all, no locks of rows")
one_lock = pytest.mark.skipif(connection.vendor != "sqlite", reason="rows have locks of their own here")


@one_row
def test_the_row_of_a_run_that_ends_meanwhile(site):
    """Its worker gives its signs of life, other runs start and end there, and the outcome is written afterwards."""
    worker = site.runscheduler("--threads", "2", "--queues", "default, its own", **WORKERS)
    other = site.runscheduler("--threads", "2", "--queues", "default", **WORKERS)
    runs = runtime_hold.enqueue_many([{}] * 4)
    site.wait_until_begun(*runs)
    held = Run.objects.get(pk=next(run for run, _, pid, _ in site.marks if pid == worker.pid))
    with locked(held):
        site.open_gate()
        wait_until(lambda: states(runs).count("succeeded") == 3, PATIENCE)
        wait_for_beats([worker, other], LONGER)
        late = runtime_mark.using(queue="its own").enqueue_many([{}] * 5)
        wait_until(lambda: set(states(late)) == {"succeeded"}, PATIENCE)
        assert states([held]) == ["running"]
    assert held.wait(PATIENCE).result == worker.pid
    assert set(site.executions().values()) == {1}
    assert nobody_was_lost(2)
    assert one_line_a_step(worker, *LISTENER)
    assert len(steps(worker)) <= 2
    assert steps(other) == []


@one_row
def test_the_row_of_a_dead_workers_run(site):
    """The others are rescued at once, and this one when the lock is gone."""
    dead = site.runscheduler("--threads", "2", **WORKERS)
    held, free = runtime_hold.enqueue_many([{}] * 2)
    site.wait_until_begun(held, free)
    dead.kill()
    with locked(held):
        other = site.runscheduler("--threads", "2", **SWIFT)
        wait_until(lambda: site.executions()[free.pk] == 2, PATIENCE)
        wait_for_beats([other], 3)
        assert states([held]) == ["running"]
    wait_until(lambda: site.executions()[held.pk] == 2, PATIENCE)
    site.open_gate()
    assert {held.wait(PATIENCE).losses, free.wait(PATIENCE).losses} == {1}
    assert one_line_a_step(other, "its worker was lost", *LISTENER)


@one_row
def test_a_deadlock(site):
    """The dispatcher has its worker's row and waits for a run's; somebody has that and waits for the worker's. It is
    the dispatcher whose transaction the database gives up, and it does everything again."""
    process = site.runscheduler("--threads", "1", **BEATS_ALWAYS)
    many = runtime_mark.using(queue="nobody's").enqueue_many([{}] * 50)
    worker = Worker.objects.get(pid=process.pid)
    for _ in range(5):  # the dispatcher waits for two seconds only: on a busy machine that may be too short
        run = runtime_hold.enqueue()
        site.wait_until_begun(run)
        with locked(run) as execute:
            if connection.vendor == "postgresql":
                execute("SET LOCAL deadlock_timeout = '60s'")  # looks later than the other one
            # Whoever has changed less is given up by MariaDB.
            execute("UPDATE jobs_run SET interruptions = 1 WHERE id >= %s AND id <= %s", many[0].pk, many[-1].pk)
            site.open_gate()
            wait_until(is_anybody_waiting, PATIENCE)
            execute("UPDATE jobs_worker SET threads = 1 WHERE id = %s", worker.pk)
        assert run.wait(PATIENCE).state == "succeeded"
        if "eadlock" in process.output:
            break
        (site.folder / "marks.gate").unlink()
    assert "eadlock" in process.output
    assert set(site.executions().values()) == {1}
    assert one_line_a_step(process, *LISTENER)
    assert Worker.objects.get().beats > worker.beats


class ForeignWriter:
    """Holds SQLite's write lock, as a long import does."""

    def __init__(self):
        self._connection = sqlite3.connect(connection.settings_dict["NAME"], timeout=60, isolation_level=None)

    @contextmanager
    def writing(self):
        self._connection.execute("BEGIN IMMEDIATE")
        yield
        self._connection.execute("ROLLBACK")

    def close(self):
        self._connection.close()


@one_lock
def test_the_database_for_longer_than_a_silence(site):
    workers = [site.runscheduler("--threads", "2", **WORKERS) for _ in range(2)]
    runs = runtime_hold.enqueue_many([{}] * 4)
    site.wait_until_begun(*runs)
    waiting = runtime_mark.enqueue_many([{}] * 10)
    with closing(ForeignWriter()) as writer, writer.writing():
        site.open_gate()
        wait_until(lambda: len(site.executions("ended")) == 4, PATIENCE)
        time.sleep(1.5 * SILENCE)  # this is the fault
    wait_until(lambda: set(states([*runs, *waiting])) == {"succeeded"}, PATIENCE)
    wait_for_beats(workers, 3)
    assert site.executions() == {run.pk: 1 for run in [*runs, *waiting]}
    assert nobody_was_lost(2)
    assert all(one_line_a_step(each) for each in workers)


@one_lock
@pytest.mark.parametrize("options", ["", "?transaction_mode=DEFERRED&timeout=1"])
def test_again_and_again(site, options):
    """Three seconds of every four, while people submit and workers work; also if the workers have a short patience for
    locks and Django's own way to begin transactions."""
    site.environment["DATABASE_URL"] += options
    workers = [site.runscheduler("--threads", "2", **WORKERS) for _ in range(2)]
    user = make_user("paul", is_superuser=True)
    is_over = Event()

    def write():
        with closing(ForeignWriter()) as writer:
            while not is_over.wait(1.0):
                with writer.writing():
                    is_over.wait(3.0)

    def submit(count):
        browser = Client()
        browser.force_login(user)
        for _ in range(count):
            answer = browser.post(
                f"/jobs/submit/{tasks.work_shortly.name}/", {"run-priority": 50, "run-queue": "default"}
            )
            assert answer.status_code == 302
        connections.close_all()

    writing = Thread(target=write)
    writing.start()
    try:
        with ThreadPoolExecutor(4) as people:
            list(people.map(submit, [25] * 4))
        wait_until(lambda: not Run.objects.filter(state__in=UNFINISHED).exists(), PATIENCE)
    finally:
        is_over.set()
        writing.join()
    assert len(site.executions()) == 100
    assert set(site.executions().values()) == {1}
    assert nobody_was_lost(2)
    assert all(one_line_a_step(each) for each in workers)
