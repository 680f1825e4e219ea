"""The heap of the PriorityScheduler: the order of tasks, the sentinels, and cancelled entries that leave in time."""

from collections import deque
from decimal import Decimal
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import compress, count
from math import inf, isfinite
from numbers import Integral, Rational, Real
from operator import attrgetter, itemgetter
from typing import Any

from jobs.core.task import Task

_task = itemgetter(2)  # of an entry
_is_waiting = attrgetter("is_waiting")


class Sentinel:
    """A mark in the heap that tells a worker what to do when it comes to the top. It waits there like a task."""

    is_waiting = True

    def __init__(self, priority: float):
        self.entry = (priority, -1, self)


STOP = Sentinel(-inf)  # before every task
DRAINED = Sentinel(inf)  # behind every task


class TaskHeap:
    """Tasks by (priority, order of arrival), and at most one sentinel.

    `push()` needs no lock: a task goes to `arrived`, and whoever takes next, under the scheduler's lock as for all
    other methods, moves it into the heap first. A producer that took the lock for each task would pass it to and fro
    with the workers, at two switches of thread a task.

    The lock is re-entrant: a signal handler or a finalizer that stops or cancels may interrupt any method between two
    lines. That is why some assign two things in one line.

    An entry is (priority, sequence, task). No two have the same sequence, so tasks are never compared. The entry of a
    cancelled task stays until it comes to the top or until more than half of the entries are such.
    """

    CANCELLED_ALLOWED = 64

    def __init__(self) -> None:
        self.arrived: deque[tuple[Any, int, Task]] = deque()
        self.sentinel: Sentinel | None = None
        self._entries: list[tuple[Any, int, Task | Sentinel]] = []
        self._sequence = count()
        self._cancelled = 0

    def __len__(self) -> int:
        """How many tasks wait, without the cancelled ones."""
        return len(self._entries) + len(self.arrived) - self._cancelled - (self.sentinel is not None)

    def push(self, priority: Any, task: Task) -> None:
        self.arrived.append((priority, next(self._sequence), task))

    def take(self) -> Task | Sentinel | None:
        """The most urgent task, for the caller to run. A sentinel on top stays there; None when there is nothing."""
        if self.arrived:
            self._collect()
        while self._entries:
            entry = heappop(self._entries)
            first = entry[2]
            if first is self.sentinel:
                heappush(self._entries, entry)
                return first
            if first.is_waiting:
                first.is_waiting = False
                return first
            self._cancelled -= 1
        return None

    def set_sentinel(self, sentinel: Sentinel | None) -> None:
        """Put `sentinel` in the place of the present one."""
        before, self.sentinel = self.sentinel, sentinel
        if sentinel is not None and sentinel is not before:
            heappush(self._entries, sentinel.entry)
        for old in (before, sentinel):  # a signal handler may have replaced the new one already
            if old is not None and old is not self.sentinel:
                self._remove(old.entry)

    def withdraw(self, task: Task) -> bool:
        """Give a waiting task to the caller, who cancels it; False when it waits no more."""
        if not task.is_waiting:
            return False
        task.is_waiting, self._cancelled = False, self._cancelled + 1
        self._collect()
        if self._cancelled > max(self.CANCELLED_ALLOWED, len(self._entries) // 2):
            waiting = compress(self._entries, map(_is_waiting, map(_task, self._entries)))
            self._cancelled, self._entries[:] = 0, waiting
            heapify(self._entries)
        return True

    def _collect(self) -> None:
        try:
            for _ in range(len(self.arrived)):
                heappush(self._entries, self.arrived.popleft())
        except IndexError:  # who has interrupted this method has collected the rest
            return

    def _remove(self, entry: tuple) -> None:
        if self._entries and self._entries[0] is entry:
            heappop(self._entries)
        elif entry in self._entries:
            self._entries.remove(entry)
            heapify(self._entries)


def checked_priority(priority: Any) -> int | float | Fraction | Decimal:
    """The priority as one of four types, all of which compare exactly with each other."""
    if isinstance(priority, bool) or not isinstance(priority, Real | Decimal):
        raise TypeError(
            f"The priority must be a number (lower is more urgent), got {type(priority).__name__}. It is the first "
            "argument after the function, unless the keyword priority= gives it."
        )
    if isinstance(priority, Integral):
        return int(priority)
    if isinstance(priority, Rational):
        return Fraction(priority)
    plain = priority if isinstance(priority, Decimal) else float(priority)
    if not (plain.is_finite() if isinstance(plain, Decimal) else isfinite(plain)):
        raise ValueError(f"The priority must be finite, got {priority}. A very low or very high number does the same.")
    return plain
