"""Tools for tests of the in-memory schedulers. Nothing sleeps: threads meet at events, and every wait is bounded."""

from threading import Condition, Event, Semaphore, Thread

from jobs.core import FIFOScheduler

PATIENCE = 20  # seconds; only a failing test waits that long


class Gate:
    """A task that holds its worker until it is opened."""

    def __init__(self):
        self.entered = Event()
        self.opened = Event()

    def __call__(self):
        self.entered.set()
        assert self.opened.wait(PATIENCE)

    def wait_until_entered(self):
        assert self.entered.wait(PATIENCE)

    def open(self):
        self.opened.set()


class WatchedCondition(Condition):
    """A Condition that tells when somebody goes to sleep on it, and keeps the timeouts."""

    def __init__(self, lock):
        super().__init__(lock)
        self.timeouts = []
        self.sleeps = Semaphore(0)

    def wait(self, timeout=None):
        self.timeouts.append(timeout)
        self.sleeps.release()
        return super().wait(timeout)

    def wait_for_sleeps(self, number=1):
        """Until that many further sleeps have begun. Their lock is free only when they really sleep."""
        for _ in range(number):
            assert self.sleeps.acquire(timeout=PATIENCE)
        with self:
            pass


def watch(scheduler):
    """Watch the sleep of the workers of a scheduler that has not started yet."""
    if isinstance(scheduler, FIFOScheduler):
        scheduler._queue.not_empty = watched = WatchedCondition(scheduler._queue.mutex)
    else:
        scheduler._changed = watched = WatchedCondition(scheduler._lock)
    return watched


class WatchedEvent(Event):
    """An Event that tells when somebody begins to wait for it."""

    def __init__(self):
        super().__init__()
        self.waits = Semaphore(0)

    def wait(self, timeout=None):
        self.waits.release()
        return super().wait(timeout)

    def wait_for_waits(self, number=1):
        for _ in range(number):
            assert self.waits.acquire(timeout=PATIENCE)


class Background:
    """A call in another thread; `result()` joins it."""

    def __init__(self, func, *args, **kwargs):
        self._call = lambda: setattr(self, "_result", func(*args, **kwargs))
        self._thread = Thread(target=self._call, daemon=True)
        self._thread.start()

    @property
    def is_waiting(self):
        return self._thread.is_alive()

    def result(self):
        self._thread.join(PATIENCE)
        assert not self.is_waiting
        return self._result
