"""The one scheduler of a process: `jobs.runtime.scheduler.start()` and `stop()`."""

import threading

import pytest

from jobs.models import Worker
from jobs.runtime import scheduler as schedulers
from tests.runtime.support import PATIENCE, together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def stopped_afterwards(gate):
    yield
    gate.open()
    assert schedulers.stop(0)


def test_starting_twice_gives_one():
    before = threading.enumerate()
    first = schedulers.start(kind="test", threads=1)
    assert schedulers.start(kind="test", threads=3) is first
    assert schedulers.current() is first
    new = [thread.name for thread in threading.enumerate() if thread not in before]
    assert new.count("jobs-dispatcher") == 1


def test_it_works_again_after_a_stop_and_a_start(ok):
    first = schedulers.start(kind="test", threads=1)
    ok.enqueue().wait(PATIENCE)
    assert schedulers.stop()
    second = schedulers.start(kind="test", threads=1)
    assert second is not first
    assert ok.enqueue().wait(PATIENCE).state == "succeeded"
    assert list(Worker.objects.order_by("pk").values_list("state", flat=True)) == ["stopped", "alive"]


def test_a_stop_without_a_start_and_a_second_stop_are_nothing(monkeypatch):
    monkeypatch.setattr(schedulers, "_current", None)
    assert schedulers.stop() is True
    schedulers.start(kind="test", threads=1)
    assert schedulers.stop() is True
    assert schedulers.stop() is True


def test_many_threads_at_once_start_one():
    got = []
    together([lambda: got.append(schedulers.start(kind="test", threads=1))] * 8)
    assert len(set(map(id, got))) == 1
