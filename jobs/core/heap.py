"""The heap of the PriorityScheduler: the order of tasks, the sentinels, and cancelled entries that leave in time."""

from decimal import Decimal
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf, isfinite
from numbers import Integral, Rational, Real
from typing import Any

from jobs.core.task import Task


class Sentinel:
    """A mark in the heap that tells a worker what to do when it comes to the top. It waits there like a task."""

    is_waiting = True

    def __init__(self, priority: float):
        self.entry = (priority, -1, self)


STOP = Sentinel(-inf)  # before every task
DRAINED = Sentinel(inf)  # behind every task


class TaskHeap:
    """Tasks by (priority, order of arrival), and at most one sentinel. The scheduler's lock guards it.

    An entry is (priority, sequence, task). No two have the same sequence, so tasks are never compared. The entry of a
    cancelled task stays until it comes to the top or until more than half of the entries are such.
    """

    CANCELLED_ALLOWED = 64

    def __init__(self) -> None:
        self.sentinel: Sentinel | None = None
        self._entries: list[tuple[Any, int, Task | Sentinel]] = []
        self._sequence = count()
        self._cancelled = 0

    def __len__(self) -> int:
        """How many tasks wait, without the cancelled ones."""
        return len(self._entries) - self._cancelled - (self.sentinel is not None)

    def push(self, priority: Any, task: Task) -> None:
        heappush(self._entries, (priority, next(self._sequence), task))

    def take(self) -> Task | Sentinel | None:
        """The most urgent task, for the caller to run. A sentinel on top stays there; None when there is nothing."""
        entries = self._entries
        while entries:
            first = entries[0][2]
            if first is self.sentinel:
                return first
            heappop(entries)
            if first.is_waiting:
                first.is_waiting = False
                return first
            self._cancelled -= 1
        return None

    def set_sentinel(self, sentinel: Sentinel | None) -> None:
        """Put `sentinel` in the place of the present one."""
        if self.sentinel is not None:
            self._remove(self.sentinel.entry)
        if sentinel is not None:
            heappush(self._entries, sentinel.entry)
        self.sentinel = sentinel

    def count_cancelled(self) -> None:
        """Take note that an entry's task was cancelled."""
        self._cancelled += 1
        if self._cancelled > max(self.CANCELLED_ALLOWED, len(self._entries) // 2):
            self._entries[:] = [entry for entry in self._entries if entry[2].is_waiting]
            heapify(self._entries)
            self._cancelled = 0

    def _remove(self, entry: tuple) -> None:
        if self._entries[0] is entry:
            heappop(self._entries)
        else:
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
