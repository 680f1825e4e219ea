"""Shortcuts inside one process: an enqueue wakes the dispatcher, a finished run wakes whoever waits for it.

Both are only shortcuts. The database tells the truth, and everybody looks there by themselves sooner or later.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import contextmanager


class Flag:
    """An Event that a signal handler may set in the middle of a `set()` of its own thread: its lock is re-entrant."""

    def __init__(self):
        self._cond = threading.Condition(threading.RLock())
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        if self._is_set:  # who clears it looks afterwards for what came before
            return
        with self._cond:
            self._is_set = True
            self._cond.notify_all()

    def clear(self) -> None:
        with self._cond:
            self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Sleep until the flag is set or `timeout` seconds are over; whether it is set."""
        with self._cond:
            return self._cond.wait_for(self.is_set, timeout)


_wakers: list[Callable[[], None]] = []


def register(waker: Callable[[], None]) -> None:
    """Call `waker` (quick, never raising) at every `wake()` from now on."""
    _wakers.append(waker)


def unregister(waker: Callable[[], None]) -> None:
    if waker in _wakers:
        _wakers.remove(waker)


def clear() -> None:
    """Forget everybody (after a fork, in the child: nobody of them is there, and a lock may be held for ever)."""
    global finished_runs
    _wakers.clear()
    finished_runs = FinishedRuns()


def wake() -> None:
    """Tell this process's dispatchers that there may be work."""
    for waker in tuple(_wakers):
        waker()


class FinishedRuns:
    """Who waits in this process for which run. Every public method takes the lock."""

    def __init__(self):
        self._lock = threading.Lock()
        self._waiters: dict[int, list[threading.Event]] = {}

    @contextmanager
    def watch(self, run_id: int):
        """Within the block, give an Event that is set when this process learns that the run has finished."""
        event = threading.Event()
        with self._lock:
            self._waiters.setdefault(run_id, []).append(event)
        try:
            yield event
        finally:
            with self._lock:
                waiting = self._waiters[run_id]
                waiting.remove(event)
                if not waiting:
                    del self._waiters[run_id]

    def announce(self, run_ids: Iterable[int]) -> None:
        if not self._waiters:  # nobody waits, as nearly always: no lock is needed to see it
            return
        with self._lock:
            for run_id in run_ids:
                for event in self._waiters.get(run_id, ()):
                    event.set()


finished_runs = FinishedRuns()
