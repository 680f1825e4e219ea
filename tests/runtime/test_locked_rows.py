"""Somebody else's lock on a row holds up what is written about that row, and nothing else."""

from threading import Event

import pytest
from django.db import connection, transaction

import jobs
from jobs.core import wake
from jobs.models import Run, Worker
from jobs.runtime.dispatcher import Dispatcher
from tests.lifecycle.support import Thread
from tests.runtime.support import PATIENCE, Gate, orphan, wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one lock for all rows"),
]


@pytest.fixture
def locked():
    """Lock the row of a run in another session until the test, or `free`, ends it."""
    ends, threads = [], []

    def locked(run):
        begun, end = Event(), Event()

        def hold():
            with transaction.atomic():
                Run.objects.select_for_update().get(pk=run.pk)
                begun.set()
                assert end.wait(3 * PATIENCE)

        threads.append(Thread(hold))
        ends.append(end)
        assert begun.wait(PATIENCE)
        return end.set

    yield locked
    for end in ends:
        end.set()
    for thread in threads:
        thread.outcome()


@pytest.fixture
def held(task, gate):
    @task
    def held():
        gate()
        return "kept"

    return held


def beats() -> int:
    return Worker.objects.get().beats


def state(run) -> str:
    return Run.objects.values_list("state", flat=True).get(pk=run.pk)


def test_others_run_and_the_worker_gives_signs_of_life_meanwhile(start, held, ok, gate, locked):
    run = held.enqueue()
    start(threads=2)
    gate.wait_until_entered()
    free = locked(run)
    gate.open()
    for _ in range(3):
        assert ok.enqueue().wait(PATIENCE).state == "succeeded"
    seen = beats()
    wait_until(lambda: beats() >= seen + 5)
    assert state(run) == "running"
    free()
    run.wait(PATIENCE)
    assert (run.state, run.result, run.losses, run.claim_no) == ("succeeded", "kept", 0, 1)


def test_what_it_tells_waits_for_the_lock_too(start, task, ok, gate, locked):
    second_gate = Gate()

    @task
    def tell():
        gate()
        jobs.current_run().progress(1, total=2)
        second_gate()

    run = tell.enqueue()
    start(threads=2)
    gate.wait_until_entered()
    free = locked(run)
    gate.open()
    second_gate.wait_until_entered()
    seen = beats()
    wait_until(lambda: beats() >= seen + 10)  # a report is written every second, a beat every 0.2 s
    assert ok.enqueue().wait(PATIENCE).state == "succeeded"
    free()
    wait_until(lambda: Run.objects.get(pk=run.pk).progress_done == 1)
    second_gate.open()
    assert run.wait(PATIENCE).state == "succeeded"


def test_it_is_claimed_when_the_lock_is_gone_and_others_before(start, ok, locked):
    first, second = ok.enqueue(), ok.enqueue()
    free = locked(first)
    start()
    assert second.wait(PATIENCE).state == "succeeded"
    assert state(first) == "queued"
    free()
    assert first.wait(PATIENCE).state == "succeeded"


def test_a_dead_workers_other_runs_are_rescued(start, ok, locked):
    runs = [ok.enqueue() for _ in range(3)]
    for run in runs:
        orphan(run, worker_id=0)
    free = locked(runs[1])
    start()
    for run in (runs[0], runs[2]):
        assert run.wait(PATIENCE).state == "succeeded"
    assert state(runs[1]) == "running"
    free()
    assert runs[1].wait(PATIENCE).losses == 1


def test_one_by_one_only_what_is_locked_is_kept(by_hand, ok, locked):
    """A run whose row is gone looks as if it were locked, but is not to be waited for."""
    runs = ok.enqueue_many([{}] * 3)
    dispatcher = by_hand(threads=3)
    dispatcher.cycle()
    for _ in runs:
        dispatcher.executor.run_one(seconds=1.0)
    free = locked(runs[0])
    Run.objects.filter(pk=runs[1].pk).delete()
    dispatcher.write_one_by_one()
    dispatcher.cycle()
    assert (state(runs[0]), state(runs[2])) == ("running", "succeeded")
    assert [outcome.run.id for outcome in dispatcher.hold.batch.outcomes] == [runs[0].pk]
    dispatcher.cycle()  # still without waiting
    assert dispatcher.hold.is_busy
    free()
    wait_until(lambda: dispatcher.cycle() and not dispatcher.hold.is_busy)
    assert state(runs[0]) == "succeeded"


def test_a_drain_waits_for_a_locked_run_without_turning_round_and_round(start, ok, locked, monkeypatch):
    run = ok.enqueue()
    free = locked(run)
    cycles, cycle = [], Dispatcher.cycle
    monkeypatch.setattr(Dispatcher, "cycle", lambda self: cycles.append(1) or cycle(self))
    scheduler = start(drain=True)
    wait_until(lambda: Worker.objects.filter(beats__gte=5).exists())  # a second
    assert len(cycles) < 100
    free()
    assert run.wait(PATIENCE).state == "succeeded"
    assert scheduler.stopped.wait(PATIENCE)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL lets nobody read a table that is locked")
def test_a_locked_table_keeps_no_scheduler_from_stopping(start, ok):
    scheduler = start()
    assert ok.enqueue().wait(PATIENCE).state == "succeeded"
    begun, end = Event(), Event()

    def hold():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE jobs_run IN ACCESS EXCLUSIVE MODE")
            begun.set()
            assert end.wait(3 * PATIENCE)

    thread = Thread(hold)
    assert begun.wait(PATIENCE)
    wake.wake()  # it looks now, if it does not by itself
    scheduler.request_stop(0)
    assert scheduler.stopped.wait(PATIENCE)
    end.set()
    thread.outcome()


def test_a_stop_waits_for_the_lock_as_long_as_its_grace_lasts(start, held, gate, locked):
    run = held.enqueue()
    scheduler = start(grace_seconds=PATIENCE)
    gate.wait_until_entered()
    free = locked(run)
    gate.open()
    scheduler.request_stop()
    wait_until(lambda: Worker.objects.get().state == "stopping")
    seen = beats()
    wait_until(lambda: beats() > seen)
    assert not scheduler.stopped.is_set()
    free()
    assert scheduler.stopped.wait(PATIENCE)
    assert state(run) == "succeeded"


def test_a_stop_with_no_time_left_leaves_it_to_be_rescued(start, held, gate, locked):
    run = held.enqueue()
    scheduler = start(grace_seconds=0.1)
    gate.wait_until_entered()
    free = locked(run)
    gate.open()
    scheduler.request_stop()
    assert scheduler.stopped.wait(PATIENCE)
    free()
    assert state(run) == "running"
    assert Worker.objects.get().state == "stopped"
