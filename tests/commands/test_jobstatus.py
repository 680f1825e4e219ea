"""`manage.py jobstatus`: for people and for monitoring."""

import json
from datetime import timedelta

import pytest

from jobs.models import Queue, Run, Worker
from jobs.testing import FakeClock
from tests.tasks import runtime_fail, runtime_nothing

pytestmark = pytest.mark.django_db

NOBODY_WORKS = 2


@pytest.fixture(autouse=True)
def clock():
    with FakeClock() as clock:
        yield clock


@pytest.fixture
def worker(clock):
    """A worker that has just given a sign of life."""
    return Worker.objects.create(
        name="host:42", host="host", pid=42, kind="web", executor="threads", threads=3,
        beat_at=clock.now(), started_at=clock.now(),
    )  # fmt: skip


def test_nobody_works_on_a_new_site(command):
    ended = command("jobstatus")
    assert ended.code == NOBODY_WORKS
    assert ended.output.startswith("Nobody works.\n")


def test_a_living_worker_is_exit_code_0(command, worker):
    ended = command("jobstatus")
    assert ended.code == 0
    assert "Workers: 1, threads: 3." in ended.output
    assert "host:42 (web): alive, last sign of life 0 s ago" in ended.output


def test_one_that_is_silent_for_too_long_does_not_work(command, worker, clock):
    clock.move(2.0)  # LOST_AFTER_SECONDS of the tests
    assert command("jobstatus").code == 0
    clock.move(0.1)
    ended = command("jobstatus")
    assert ended.code == NOBODY_WORKS
    assert "silent for too long" in ended.output


@pytest.mark.parametrize("state", ["stopped", "dead"])
def test_one_that_has_ended_is_not_there(command, worker, state):
    Worker.objects.update(state=state)
    ended = command("jobstatus")
    assert ended.code == NOBODY_WORKS
    assert "host:42" not in ended.output


def test_runs_and_queues(command, worker, clock):
    runtime_nothing.using(queue="slow").enqueue()
    clock.move(65)
    runtime_nothing.enqueue()
    runtime_nothing.using(run_after=timedelta(hours=1)).enqueue()
    failed = runtime_fail.enqueue()
    Run.objects.filter(pk=failed.pk).update(state="failed", finished_at=clock.now() - timedelta(minutes=59))
    Queue.objects.create(name="slow", is_paused=True)
    ended = command("jobstatus")
    for words in (
        "2 queued",
        "1 scheduled",
        "0 running",
        "1 failed within the last hour",
        "slow: 1 queued, the oldest for 65 s, paused\n",
        "default: 1 queued, the oldest for 0 s\n",
    ):
        assert words in ended.output


def test_json_holds_the_same(command, worker, clock):
    runtime_nothing.using(queue="slow").enqueue()
    clock.move(1.5)
    ended = command("jobstatus", "--json")
    status = json.loads(ended.output)
    assert ended.code == 0
    assert status["is_working"] is True
    assert status["runs"]["queued"] == 1
    assert status["oldest_waiting_seconds"] == 1.5
    (queue,) = status["queues"]
    assert (queue["name"], queue["queued"], queue["oldest_waiting_seconds"]) == ("slow", 1, 1.5)
    (row,) = status["workers"]
    assert (row["name"], row["threads"], row["is_alive"], row["last_beat_seconds_ago"]) == ("host:42", 3, True, 1.5)


def test_json_on_a_new_site(command):
    ended = command("jobstatus", "--json")
    assert ended.code == NOBODY_WORKS
    assert json.loads(ended.output)["is_working"] is False
