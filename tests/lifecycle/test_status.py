"""How the site stands."""

import json

import pytest

from jobs.lifecycle import workers
from jobs.lifecycle.database import connection
from jobs.lifecycle.status import status
from jobs.models import Queue, Worker
from tests.lifecycle.support import ended, new_worker, stored

pytestmark = pytest.mark.django_db


def test_an_empty_site():
    assert status() == {
        "is_working": False,
        "last_beat_seconds_ago": None,
        "runs": {"blocked": 0, "queued": 0, "running": 0, "scheduled": 0},
        "failed_last_hour": 0,
        "oldest_waiting_seconds": 0.0,
        "queues": [],
        "workers": [],
    }


def test_what_waits_and_for_how_long(clock):
    stored(queue="a")
    clock.move(10)
    stored(queue="a")
    stored(queue="b", state="scheduled", ready_in=60)
    stored(queue="b", state="running")
    Queue.objects.create(name="c", is_paused=True, paused_reason="why")
    clock.move(10.5)
    stored(queue="c")
    ended(queue="d")
    told = status()
    assert told["runs"] == {"blocked": 0, "queued": 3, "running": 1, "scheduled": 1}
    assert told["oldest_waiting_seconds"] == 20.5
    assert told["queues"] == [
        {"name": "a", "is_paused": False, "paused_reason": "", "queued": 2, "oldest_waiting_seconds": 20.5},
        {"name": "c", "is_paused": True, "paused_reason": "why", "queued": 1, "oldest_waiting_seconds": 0.0},
    ]
    assert json.loads(json.dumps(told)) == told


def test_what_failed_lately(clock):
    ended("failed")
    clock.move(3601)
    ended("failed")
    ended("succeeded")
    assert status()["failed_last_hour"] == 1


def test_who_works(clock, settings):
    settings.JOBS = {}
    worker, gone, dead = new_worker(queues=["a", "b"], threads=3), new_worker(), new_worker()
    workers.mark(connection(), gone.pk, Worker.State.STOPPED, clock.now())
    Worker.objects.filter(pk=dead.pk).update(state="dead")
    clock.move(45)
    told = status()
    assert told["is_working"]
    assert told["workers"] == [
        {
            "id": worker.pk,
            "name": worker.name,
            "kind": "test",
            "state": "alive",
            "threads": 3,
            "queues": "a, b",
            "last_beat_seconds_ago": 45.0,
            "is_alive": True,
        }
    ]
    clock.move(0.5)
    assert not status()["is_working"]
    assert [each["is_alive"] for each in status()["workers"]] == [False]


def test_how_long_ago_anybody_gave_a_sign_of_life(clock):
    worker = new_worker()
    workers.mark(connection(), worker.pk, Worker.State.STOPPED, clock.now())
    clock.move(45.5)
    assert (status()["last_beat_seconds_ago"], status()["workers"]) == (45.5, [])


def test_a_worker_without_a_sign_of_life_has_the_age_of_its_start(clock):
    worker = new_worker()
    Worker.objects.filter(pk=worker.pk).update(beat_at=None)
    clock.move(1)
    (told,) = status()["workers"]
    assert (told["last_beat_seconds_ago"], told["is_alive"]) == (1.0, True)


def test_the_number_of_statements_does_not_grow(clock, django_assert_num_queries):
    for number in range(5):
        stored(queue=f"q{number}")
        new_worker()
    with django_assert_num_queries(6):
        status()
