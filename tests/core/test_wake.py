import threading

import pytest

from jobs.core import wake
from jobs.core.wake import FinishedRuns, Flag


@pytest.fixture(autouse=True)
def only_ours(monkeypatch):
    monkeypatch.setattr(wake, "_wakers", [])
    monkeypatch.setattr(wake, "finished_runs", FinishedRuns())


def test_every_registered_waker_is_called():
    calls = []
    one, other = (lambda: calls.append(1)), (lambda: calls.append(2))
    wake.register(one)
    wake.register(other)
    wake.wake()
    assert calls == [1, 2]


def test_an_unregistered_one_is_not():
    calls = []
    waker = calls.append
    wake.register(lambda: waker("kept"))
    gone = lambda: waker("gone")  # noqa: E731
    wake.register(gone)
    wake.unregister(gone)
    wake.unregister(gone)
    wake.wake()
    assert calls == ["kept"]


def test_a_waker_may_unregister_itself_while_it_is_called():
    calls = []

    def once():
        calls.append("once")
        wake.unregister(once)

    wake.register(once)
    wake.register(lambda: calls.append("other"))
    wake.wake()
    wake.wake()
    assert calls == ["once", "other", "other"]


def test_clear_forgets_all():
    """As in the child of a fork: a lock of the parent's threads may be held for ever."""
    wake.register(lambda: pytest.fail("called"))
    before = wake.finished_runs
    with before.watch(1) as event, before._lock:
        wake.clear()
        wake.wake()
        assert wake.finished_runs is not before
        wake.finished_runs.announce([1])  # waits for no lock, and tells nobody
        assert not event.is_set()


def test_a_watcher_is_told_of_its_run_only():
    finished = FinishedRuns()
    with finished.watch(1) as one, finished.watch(2) as two:
        finished.announce([2, 3])
        assert (one.is_set(), two.is_set()) == (False, True)


def test_all_watchers_of_a_run_are_told():
    finished = FinishedRuns()
    with finished.watch(1) as one, finished.watch(1) as other:
        finished.announce(iter([1]))
        assert one.is_set()
        assert other.is_set()


def test_who_left_is_not_told_and_leaves_nothing_behind():
    finished = FinishedRuns()
    with finished.watch(1) as stays:
        with pytest.raises(RuntimeError), finished.watch(1) as left:
            raise RuntimeError
        finished.announce([1])
        assert stays.is_set()
        assert not left.is_set()
    assert not finished._waiters


def test_an_announcement_reaches_another_thread():
    finished, ready, told = FinishedRuns(), threading.Event(), []

    def watch():
        with finished.watch(7) as event:
            ready.set()
            told.append(event.wait(20))

    thread = threading.Thread(target=watch)
    thread.start()
    assert ready.wait(20)
    finished.announce([7])
    thread.join(20)
    assert told == [True]


class TestFlag:
    def test_like_an_event(self):
        flag = Flag()
        assert not flag.is_set()
        assert not flag.wait(0)
        flag.set()
        flag.set()
        assert flag.is_set()
        assert flag.wait()
        flag.clear()
        assert not flag.is_set()
        assert not flag.wait(0.001)

    def test_it_wakes_all_who_sleep(self):
        flag, ready, woken = Flag(), threading.Barrier(3, timeout=20), []

        def sleep():
            ready.wait()
            woken.append(flag.wait(20))

        threads = [threading.Thread(target=sleep, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        ready.wait()
        flag.set()
        for thread in threads:
            thread.join(20)
        assert woken == [True, True]

    def test_a_signal_handler_may_set_it_in_the_middle_of_a_set(self):
        """The handler runs in the thread that it interrupts, which may hold the lock."""
        flag = Flag()

        def interrupted():
            with flag._cond:
                flag.set()

        thread = threading.Thread(target=interrupted, daemon=True)
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
        assert flag.is_set()
