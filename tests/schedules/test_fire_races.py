"""Many fire the same slots at the same moment: each becomes one run, and the losers say nothing."""

import threading
from contextlib import contextmanager
from importlib import import_module

import pytest
from django.db import OperationalError, transaction

from jobs.lifecycle import fire as fires
from jobs.lifecycle.database import alias, begin_session, connection, lock_free
from jobs.lifecycle.fire import fire
from jobs.lifecycle.schedules import save_schedule
from jobs.models import Run, Schedule
from tests.lifecycle.support import PATIENCE, Thread
from tests.runtime.support import wait_until
from tests.schedules.support import a_job, end_runs, every, look, loud, skipped, slots

pytestmark = pytest.mark.django_db(transaction=True)

enqueues = import_module("jobs.lifecycle.enqueue")  # the package has a function of this name

THREADS = 4


@pytest.fixture
def only_servers(transactional_db):
    if connection().vendor == "sqlite":
        pytest.skip("one transaction at a time: nobody can stand in the middle of another's")


def fire_once(clock) -> int:
    """As a dispatcher does, over this thread's connection: what ends in a deadlock is done again."""
    connection().ensure_connection()
    begin_session(connection())
    for _ in range(10):
        try:
            with transaction.atomic(using=alias()):
                return fire(connection(), clock.now())
        except OperationalError as error:
            if "deadlock" not in str(error).lower():
                raise
    raise AssertionError("one deadlock after the other")


def together(clock, threads: int = THREADS) -> list[int]:
    return [thread.outcome() for thread in [Thread(fire_once, clock) for _ in range(threads)]]


class Meeting:
    """A point at which so many threads wait for each other, each once; with fewer of them it fails."""

    def __init__(self, parties: int):
        self._barrier = threading.Barrier(parties)
        self._met = threading.local()
        self.met = 0

    def __call__(self) -> None:
        if not getattr(self._met, "already", False):
            self._met.already = True
            self._barrier.wait(PATIENCE)
            self.met += 1


@contextmanager
def before(monkeypatch, owner, name: str, step):
    """Have `step` done before each call of a function."""
    original = getattr(owner, name)

    def with_step(*args, **kwargs):
        step()
        return original(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, with_step)
        yield


def test_all_look_at_the_same_moment(clock, monkeypatch, caplog):
    """They meet just before the first statement of their transactions: on SQLite nobody comes further together."""
    schedule = every(10, overlap="allow")
    for number in range(1, 21):
        clock.move(10)
        barrier = threading.Barrier(THREADS)

        def at_once(barrier=barrier):
            barrier.wait(PATIENCE)
            return fire_once(clock)

        threads = [Thread(at_once) for _ in range(THREADS)]
        for thread in threads:
            thread.outcome()
        assert Run.objects.count() == number
    assert slots(schedule) == sorted(set(slots(schedule)))
    assert skipped(schedule) == []
    assert loud(caplog) == []


def test_all_want_the_lock_at_the_same_moment(clock, monkeypatch, caplog, only_servers):
    schedule = every(10, overlap="allow")
    for number in range(1, 11):
        clock.move(10)
        meeting = Meeting(THREADS)
        with before(monkeypatch, fires, "lock_free", meeting):
            counts = together(clock)
        assert meeting.met == THREADS
        assert counts.count(1) >= 1
        assert Run.objects.count() == number
    assert skipped(schedule) == []
    assert loud(caplog) == []


@pytest.mark.parametrize("overlap", ["allow", "skip", "queue", "replace"])
@pytest.mark.parametrize("unique_key", ["", "one"])
def test_without_the_lock_the_database_decides(clock, monkeypatch, caplog, only_servers, overlap, unique_key):
    """Both have seen the slot without a run and stand just before the INSERT."""
    schedule = every(10, overlap=overlap, job=a_job(unique_key=unique_key))
    monkeypatch.setattr(fires, "lock_free", lambda db, table, ids: list(ids))
    for number in range(1, 6):
        clock.move(10)
        meeting = Meeting(2)
        with before(monkeypatch, enqueues, "insert", meeting):
            together(clock, threads=2)
        assert meeting.met == 2
        assert len(slots(schedule)) == number
        end_runs(schedule)
    assert skipped(schedule) == []
    schedule.refresh_from_db()
    assert (schedule.problem, schedule.missed_count) == ("", 0)
    assert schedule.last_slot_at == clock.now()
    assert loud(caplog) == []


@pytest.mark.parametrize("overlap", ["allow", "skip", "queue", "replace"])
def test_without_the_lock_a_loser_that_comes_later_says_nothing_either(
    clock, monkeypatch, caplog, only_servers, overlap
):
    """It has read the schedule before the winner's commit, and everything else after it."""
    schedule = every(10, overlap=overlap)
    clock.move(10)
    has_read, may_go_on = threading.Event(), threading.Event()
    original = fires.readable

    def read_and_wait(*args):
        found = original(*args)
        if threading.current_thread() is not threading.main_thread():
            has_read.set()
            assert may_go_on.wait(PATIENCE)
        return found

    monkeypatch.setattr(fires, "lock_free", lambda db, table, ids: list(ids))
    monkeypatch.setattr(fires, "readable", read_and_wait)
    loser = Thread(fire_once, clock)
    assert has_read.wait(PATIENCE)
    look()
    may_go_on.set()
    loser.outcome()
    assert slots(schedule) == ["01-01T00:00:10"]
    assert skipped(schedule) == []
    assert Schedule.objects.get().problem == ""
    assert loud(caplog) == []


def test_what_somebody_has_locked_is_left_for_later_and_stops_nobody(clock, only_servers):
    held, free = every(10), every(10)
    clock.move(10)
    with transaction.atomic(using=alias()):
        assert lock_free(connection(), "jobs_schedule", [held.pk])
        assert Thread(fire_once, clock).outcome() == 1
    assert (slots(held), len(slots(free))) == ([], 1)
    look()
    assert len(slots(held)) == 1


def test_an_edit_by_form_waits_for_the_one_that_fires(clock, monkeypatch, only_servers):
    schedule = every(10, overlap="allow")
    on_screen = Schedule.objects.get()
    clock.move(10)
    stands, may_go_on = threading.Event(), threading.Event()

    def wait_in_the_middle():
        if threading.current_thread() is not threading.main_thread():
            stands.set()
            assert may_go_on.wait(PATIENCE)

    with before(monkeypatch, enqueues, "insert", wait_in_the_middle):
        firing = Thread(fire_once, clock)
        assert stands.wait(PATIENCE)
        on_screen.interval_seconds = 5
        editing = Thread(save_schedule, on_screen)
        wait_until(lambda: editing.is_alive())
        may_go_on.set()
        firing.outcome()
        editing.outcome()
    stored = Schedule.objects.get()
    assert stored.last_slot_at == clock.now()
    clock.move(5)
    look()
    assert slots(schedule) == ["01-01T00:00:10", "01-01T00:00:15"]


@pytest.mark.parametrize("overlap", ["allow", "skip", "queue", "replace"])
def test_after_the_history_is_pruned_no_slot_comes_again(clock, overlap):
    schedule = every(10, overlap=overlap)
    for _ in range(5):
        clock.move(10)
        look()
        Run.objects.all().delete()
        look()
        assert not Run.objects.exists()
    clock.move(10)
    look()
    assert slots(schedule) == ["01-01T00:01:00"]
