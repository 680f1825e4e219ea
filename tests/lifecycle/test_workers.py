"""The rows of workers."""

import os
from datetime import timedelta

import pytest

from jobs.lifecycle import workers
from jobs.lifecycle.database import connection
from jobs.models import Worker
from tests.lifecycle.support import new_worker

pytestmark = pytest.mark.django_db


def states():
    return list(Worker.objects.order_by("pk").values_list("state", flat=True))


def test_every_start_is_somebody_new(clock):
    one, other = (
        new_worker(kind="web", threads=3, queues=None),
        new_worker(kind="runscheduler", queues=["a", "b"]),
    )
    assert one.pk != other.pk
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.state, one.kind, one.executor, one.threads, one.queues) == ("alive", "web", "threads", 3, None)
    assert other.queues == "a, b"
    assert (one.pid, one.name) == (os.getpid(), f"{one.host}:{os.getpid()}")
    assert (one.beats, one.beat_at, one.started_at, one.stopped_at) == (0, clock.now(), clock.now(), None)


def test_a_beat_raises_the_counter(clock):
    one, other = new_worker(), new_worker()
    clock.move(10)
    assert workers.beat(connection(), one.pk, clock.now())
    assert workers.beat(connection(), one.pk, clock.now())
    one.refresh_from_db()
    assert (one.beats, one.beat_at) == (2, clock.now())
    assert workers.others(connection(), one.pk) == {other.pk: 0}
    assert workers.others(connection(), other.pk) == {one.pk: 2}


@pytest.mark.parametrize("state", ["dead", "stopped"])
def test_who_was_declared_dead_learns_it_by_its_beat(clock, state):
    worker = new_worker()
    Worker.objects.update(state=state)
    assert not workers.beat(connection(), worker.pk, clock.now())
    assert Worker.objects.get().beats == 0
    assert workers.others(connection(), 0) == {}
    Worker.objects.all().delete()
    assert not workers.beat(connection(), worker.pk, clock.now())


def test_who_is_stopping_is_still_there(clock):
    worker = new_worker()
    workers.mark(connection(), worker.pk, Worker.State.STOPPING, clock.now())
    assert workers.beat(connection(), worker.pk, clock.now())
    assert workers.others(connection(), 0) == {worker.pk: 1}
    worker.refresh_from_db()
    assert (worker.state, worker.stopped_at) == ("stopping", None)


def test_stopped(clock):
    one, other = new_worker(), new_worker()
    clock.move(5)
    workers.mark(connection(), one.pk, Worker.State.STOPPED, clock.now())
    assert states() == ["stopped", "alive"]
    one.refresh_from_db()
    assert one.stopped_at == clock.now()
    assert workers.others(connection(), 0) == {other.pk: 0}


def test_the_dead_do_not_come_back_by_stopping(clock):
    worker = new_worker()
    Worker.objects.update(state="dead")
    for state in (Worker.State.STOPPING, Worker.State.STOPPED):
        workers.mark(connection(), worker.pk, state, clock.now())
    assert states() == ["dead"]


def test_long_silent_by_the_time_of_the_last_beat(clock):
    silent, gone, lively, mine = (new_worker() for _ in range(4))
    workers.mark(connection(), gone.pk, Worker.State.STOPPED, clock.now())
    clock.move(450)
    workers.beat(connection(), lively.pk, clock.now())

    def found():
        return workers.long_silent(connection(), mine.pk, since=timedelta(seconds=450), now=clock.now())

    assert found() == frozenset()
    clock.move(0.001)
    assert found() == {silent.pk}
