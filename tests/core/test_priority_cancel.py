"""Cancelled tasks of the PriorityScheduler: what they leave in the heap, and for how long."""

import weakref
from threading import Barrier

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.core import PriorityScheduler
from tests.core.tools import PATIENCE, Background, watch


def entries(scheduler):
    return len(scheduler._heap._entries)


@given(st.lists(st.integers(0, 299)))
@settings(deadline=None)
def test_cancelled_entries_are_few_and_never_counted(cancelled):
    scheduler = PriorityScheduler()
    futures = [scheduler.schedule(int, -number) for number in range(300)]
    for number in cancelled:
        assert futures[number].cancel()
        assert scheduler.pending == sum(not future.cancelled() for future in futures)
        assert entries(scheduler) <= max(2 * scheduler.pending, scheduler.pending + 64)
    with scheduler:
        pass
    assert scheduler.succeeded == 300 - len(set(cancelled))
    assert entries(scheduler) == 0


def test_a_sweep_keeps_the_order(make):
    scheduler, ran = make(), []
    futures = [scheduler.schedule(ran.append, number % 10, number) for number in range(1000)]
    for number in range(1000):
        if number % 7:
            futures[number].cancel()
    assert entries(scheduler) < 1000
    with scheduler:
        pass
    assert ran == sorted(range(0, 1000, 7), key=lambda number: (number % 10, number))


def test_a_sweep_lets_go_of_the_tasks(make, no_gc):
    scheduler = make()
    ghosts = []
    for _ in range(1000):
        future = scheduler.schedule(int, 0)
        ghosts.append(weakref.ref(future))
        future.cancel()
    del future
    assert sum(ghost() is not None for ghost in ghosts) <= 64


def test_an_idle_worker_keeps_no_cancelled_task(make, no_gc):
    scheduler = make()
    sleeper = watch(scheduler)
    future = scheduler.schedule(int, 0)
    ghost = weakref.ref(future)
    future.cancel()
    del future
    scheduler.start()
    sleeper.wait_for_sleeps()
    assert ghost() is None


def test_a_sweep_during_a_drain_keeps_its_sentinel(make, gate):
    scheduler = make()
    scheduler.start()
    scheduler.schedule(gate, 0)
    gate.wait_until_entered()
    scheduler.stop(drain=True, timeout=0)
    for _ in range(200):
        scheduler.schedule(int, 0).cancel()
    assert scheduler.pending == 0
    gate.open()
    assert scheduler.stop(drain=True, timeout=PATIENCE) is True
    assert entries(scheduler) == 0


def test_a_task_is_either_cancelled_or_run(make):
    scheduler, ran = make(threads=2), []
    futures = [scheduler.schedule(ran.append, 0, number) for number in range(3000)]
    together = Barrier(3)

    def cancel_all():
        together.wait(PATIENCE)
        return {number for number, future in enumerate(futures) if future.cancel()}

    def cancel_backwards():
        together.wait(PATIENCE)
        return {number for number in reversed(range(3000)) if futures[number].cancel()}

    cancels = [Background(cancel_all), Background(cancel_backwards)]
    together.wait(PATIENCE)
    with scheduler:
        pass
    cancelled = set.union(*(cancel.result() for cancel in cancels))
    assert sorted([*ran, *cancelled]) == list(range(3000))
    assert scheduler.succeeded == len(ran)
