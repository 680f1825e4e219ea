"""How a dispatcher sleeps: until it is woken, until the time is over, or until the file changes."""

import sqlite3
import threading
import time

import pytest
from django.db import connection

from jobs.core.wake import Flag
from jobs.models import Queue
from jobs.runtime.wakeups import IDLE_STEP, Wakeup
from tests.runtime.support import PATIENCE, wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="data_version is SQLite's"),
]


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
    wakeup.wait(0.001)  # it knows the file's version now
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


def test_a_commit_of_another_connection_ends_the_sleep(wakeup, flag):
    thread = in_background(write_from_outside, flag)
    assert seconds_of(wakeup, PATIENCE) < PATIENCE / 2
    thread.join()


def test_a_commit_of_its_own_does_not(wakeup):
    Queue.objects.create(name="own")
    assert seconds_of(wakeup, 0.2) >= 0.2


def test_without_anything_it_ends_with_the_time(wakeup):
    assert seconds_of(wakeup, 0.1) >= 0.1


def test_it_looks_often_after_work_and_less_often_later(wakeup, flag):
    wakeup.wait(0.2)
    assert max(flag.timeouts[1:]) == IDLE_STEP
    flag.timeouts.clear()
    wakeup.was_busy()
    wakeup.wait(0.1)
    assert max(flag.timeouts) == pytest.approx(0.02)


def test_a_connection_that_is_closed_needs_no_version(flag):
    connection.close()
    assert seconds_of(Wakeup(flag), 0.05) >= 0.05


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
