"""A site on which nobody works says so (case S3)."""

import pytest

from jobs.lifecycle import pause
from jobs.models import Worker
from tests.web.support import make_run, make_worker, opened, url


@pytest.fixture
def viewer(person):
    return person("view_run", "view_worker", "view_queue")


def test_no_worker_has_ever_been_there(viewer, clock):
    make_run()
    clock.move(90)
    text = opened(viewer, url("dashboard")).text
    assert "Nobody works. No worker has ever given a sign of life." in text
    assert "The oldest ready run has waited for 1 min 30 s." in text
    assert "Start the server, or manage.py runscheduler" in text


def test_the_last_worker_has_gone_silent(viewer, clock):
    make_worker()
    make_run()
    assert "1 worker at work, with 4 threads." in opened(viewer, url("dashboard")).text
    clock.move(3)
    page = opened(viewer, url("dashboard"))
    assert "Nobody works. The last sign of life of a worker came 3.0 s ago." in page.text
    assert [each for each in page.all("p") if each.get("role") == "alert"]
    assert "silent" in opened(viewer, url("workers")).text


@pytest.mark.parametrize("state", ["stopped", "dead"])
def test_a_worker_that_is_gone_works_no_more(viewer, client, clock, state):
    make_worker(state=state, name="host:77", stopped_at=clock.now())
    assert "Nobody works." in opened(viewer, url("dashboard")).text
    page = opened(viewer, url("workers"))
    assert "Nobody works." in page.text
    assert "host:77" in page.text
    assert client.get(url("health")).status_code == 503


def test_nobody_works_and_nothing_waits(viewer, clock):
    text = opened(viewer, url("dashboard")).text
    assert "Nobody works." in text
    assert "has waited" not in text
    assert "No run is ready to start." in text


def test_two_workers(viewer):
    make_worker()
    make_worker(threads=1)
    assert "2 workers at work, with 5 threads." in opened(viewer, url("dashboard")).text


def test_health_for_monitoring(client, clock, db):
    def health():
        response = client.get(url("health"))
        return response.status_code, response.json()

    make_run()
    assert health() == (503, {"is_working": False})
    worker = make_worker()
    assert health() == (200, {"is_working": True})
    clock.move(2)
    assert health() == (200, {"is_working": True})
    clock.move(0.5)
    assert health() == (503, {"is_working": False})
    Worker.objects.filter(pk=worker.pk).update(beat_at=clock.now())
    assert health() == (200, {"is_working": True})


def test_health_asks_one_thing_of_the_database(client, db, django_assert_num_queries):
    for _ in range(5):
        make_worker()
        make_run()
    with django_assert_num_queries(1):
        client.get(url("health"))


def test_status_as_json(viewer, clock):
    make_worker()
    make_run(queue="mail")
    pause("mail", reason="full")
    clock.move(1)
    told = viewer.get(url("status")).json()
    assert (told["is_working"], told["last_beat_seconds_ago"], told["oldest_waiting_seconds"]) == (True, 1.0, 1.0)
    assert told["runs"] == {"blocked": 0, "queued": 1, "running": 0, "scheduled": 0}
    assert told["queues"] == [
        {"name": "mail", "is_paused": True, "paused_reason": "full", "queued": 1, "oldest_waiting_seconds": 1.0}
    ]


def test_a_person_without_view_run_sees_no_state_of_the_site(person, clock):
    text = opened(person(), url("dashboard")).text
    assert "Nobody works" not in text
    assert "Ready runs by queue" not in text
