"""How a dispatcher sleeps: until it is woken, until the time is over, or until the file changes."""

import sqlite3
import threading
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.core.wake import Flag
from jobs.models import Queue
from jobs.runtime import wakeups
from jobs.runtime.wakeups import BUSY_STEP, IDLE_STEP, Wakeup
from tests.runtime.support import PATIENCE, states, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
sqlite_only = pytest.mark.skipif(connection.vendor != "sqlite", reason="data_version is SQLite's")
not_sqlite = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite tells by its data_version")


class WatchedFlag(Flag):
    """Tells when somebody sleeps on it, and how long they want to."""

    def __init__(self):
        super().__init__()
        self.sleeps = threading.Semaphore(0)
        self.timeouts = []

    def wait(self, timeout=None):
        self.timeouts.append(timeout)
        self.sleeps.release()
        return super().wait(timeout)


@pytest.fixture
def flag():
    return WatchedFlag()


@pytest.fixture
def wakeup(flag):
    connection.ensure_connection()
    wakeup = Wakeup(flag)
    wakeup.wait(0.001)  # on SQLite it knows the file's version now
    return wakeup


def seconds_of(wakeup, seconds):
    start = time.monotonic()
    wakeup.wait(seconds)
    return time.monotonic() - start


def in_background(action, flag):
    """Do it in another thread once somebody sleeps."""

    def act():
        while flag.sleeps.acquire(blocking=False):
            pass
        assert flag.sleeps.acquire(timeout=PATIENCE)
        action()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def write_from_outside():
    other = sqlite3.connect(connection.settings_dict["NAME"], timeout=PATIENCE)
    other.execute("INSERT INTO jobs_queue (name, is_paused, paused_reason, paused_by_name) VALUES ('x', 0, '', '')")
    other.commit()
    other.close()


def test_a_set_flag_ends_the_sleep(wakeup, flag):
    thread = in_background(flag.set, flag)
    assert seconds_of(wakeup, PATIENCE) < PATIENCE / 2
    thread.join()


def test_one_that_was_set_before_lets_nobody_sleep(wakeup, flag):
    flag.set()
    assert seconds_of(wakeup, PATIENCE) < PATIENCE / 2


@sqlite_only
def test_a_commit_of_another_connection_ends_the_sleep(wakeup, flag):
    thread = in_background(write_from_outside, flag)
    assert seconds_of(wakeup, PATIENCE) < PATIENCE / 2
    thread.join()


@sqlite_only
def test_a_commit_of_its_own_does_not(wakeup):
    Queue.objects.create(name="own")
    assert seconds_of(wakeup, 0.2) >= 0.2


def test_without_anything_it_ends_with_the_time(wakeup):
    wakeup._busy_at -= 10  # else the poll is shorter
    assert seconds_of(wakeup, 0.1) >= 0.1


@sqlite_only
def test_it_looks_often_after_work_and_less_often_later(wakeup, flag):
    wakeup._busy_at -= wakeups.IDLE_AFTER
    wakeup.wait(0.2)
    assert max(flag.timeouts[1:]) == IDLE_STEP
    flag.timeouts.clear()
    wakeup.was_busy()
    wakeup.wait(0.1)
    assert max(flag.timeouts) == pytest.approx(0.02)


def test_a_connection_that_is_closed_needs_no_version(flag):
    connection.close()
    wakeup = Wakeup(flag)
    wakeup._busy_at -= 10
    assert seconds_of(wakeup, 0.05) >= 0.05


def wanted(wakeup, flag, seconds, *, quiet):
    """How long it wants to sleep when the last work is so many seconds ago and `seconds` are the most."""
    flag.timeouts.clear()
    flag.set()  # so that it does not really sleep
    wakeup.was_busy()
    wakeup._busy_at -= quiet
    wakeup.wait(seconds)
    return flag.timeouts[0]


@not_sqlite
class TestPoll:
    @pytest.fixture(autouse=True)
    def time_stands_still(self, monkeypatch):
        monkeypatch.setattr(wakeups, "time", SimpleNamespace(monotonic=lambda: 1000.0))

    def test_it_is_short_just_after_work_and_grows_with_the_quiet_up_to_the_longest(self, wakeup, flag):
        assert wanted(wakeup, flag, 1.0, quiet=0) == BUSY_STEP
        assert wanted(wakeup, flag, 1.0, quiet=0.1) == BUSY_STEP
        assert wanted(wakeup, flag, 1.0, quiet=5) == pytest.approx(0.5)
        assert wanted(wakeup, flag, 1.0, quiet=60) == 1.0
        assert wanted(wakeup, flag, 0.001, quiet=60) == 0.001

    def test_who_is_told_does_not_poll_more_often_than_it_must(self, wakeup, flag):
        wakeup._listener = SimpleNamespace(is_listening=True)
        assert wanted(wakeup, flag, 1.0, quiet=0) == 1.0
        wakeup._listener.is_listening = False
        assert wanted(wakeup, flag, 1.0, quiet=0) == BUSY_STEP


@pytest.mark.skipif(connection.vendor == "postgresql", reason="PostgreSQL has something to hear: test_listener")
def test_where_there_is_nothing_to_hear_nobody_listens(wakeup):
    before = threading.active_count()
    with wakeup.listening():
        assert threading.active_count() == before


class TestWhatAWakeUpCosts:
    def test_without_room_a_storm_of_wake_ups_reads_nothing(self, by_hand, ok, clock):
        dispatcher = by_hand()
        ok.enqueue_many([{}, {}])
        dispatcher.cycle()
        dispatcher.executor.begin()
        dispatcher.cycle()
        with CaptureQueriesContext(connection) as queries:
            for _ in range(100):
                dispatcher.woken.set()
                assert not dispatcher.cycle()
        assert [query["sql"] for query in queries] == []

    def test_without_room_what_becomes_due_is_made_ready_all_the_same(self, by_hand, ok, clock):
        dispatcher = by_hand()
        ok.enqueue()
        dispatcher.cycle()
        dispatcher.executor.begin()
        run = ok.using(run_after=timedelta(seconds=5)).enqueue()
        clock.move(1.1)
        assert not dispatcher.cycle()
        clock.move(3.9)
        assert dispatcher.cycle()
        assert states([run]) == ["queued"]
        with CaptureQueriesContext(connection) as queries:
            assert not any(dispatcher.cycle() for _ in range(100))
        assert len([query for query in queries if query["sql"].startswith("SELECT")]) <= 2  # nothing more becomes due

    def test_a_sign_of_life_is_no_work(self, by_hand, ok, clock):
        dispatcher = by_hand()
        dispatcher.cycle()
        clock.move(10)
        assert dispatcher.cycle()
        assert not dispatcher.had_work
        ok.enqueue()
        dispatcher.cycle()
        assert dispatcher.had_work
        dispatcher.executor.run_one()
        dispatcher.cycle()
        assert dispatcher.had_work
        dispatcher.cycle()
        assert not dispatcher.had_work


class TestFlag:
    def test_it_is_an_event(self):
        flag = Flag()
        assert not flag.is_set()
        assert flag.wait(0.001) is False
        flag.set()
        flag.set()
        assert flag.is_set()
        assert flag.wait() is True
        flag.clear()
        assert flag.wait(0.001) is False

    def test_it_wakes_all_who_wait(self):
        flag, woken = WatchedFlag(), []
        threads = [threading.Thread(target=lambda: woken.append(flag.wait(PATIENCE))) for _ in range(5)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert flag.sleeps.acquire(timeout=PATIENCE)
        flag.set()
        wait_until(lambda: woken == [True] * 5, PATIENCE / 2)

    def test_a_signal_handler_may_set_it_in_the_middle_of_a_set_of_its_own_thread(self):
        flag, done = Flag(), threading.Event()

        def set_within_set():
            with flag._cond:
                flag.set()
            done.set()

        threading.Thread(target=set_within_set, daemon=True).start()
        assert done.wait(PATIENCE)
