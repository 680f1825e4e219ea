"""The threads of one process that execute functions, and who of them only waits for another execution."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock


class Crew:
    """`is_whole` False: there are others beside it, of whom nothing is known here.

    Lock rule: `_lock` guards the count of those who wait.
    """

    def __init__(self, threads: int, *, is_whole: bool = True):
        self.threads = threads
        self.is_whole = is_whole
        self._waiting = 0
        self._lock = Lock()

    @contextmanager
    def one_waits(self) -> Iterator[bool]:
        """Within the block, one thread does nothing but wait. Given is whether it may: at least one other must be left
        that works, or all would wait for each other for ever."""
        with self._lock:
            may_wait = self._waiting + 1 < self.threads
            self._waiting += may_wait
        try:
            yield may_wait
        finally:
            with self._lock:
                self._waiting -= may_wait


@dataclass(frozen=True, slots=True)
class Seat:
    """The thread of a crew that executes a run."""

    crew: Crew
    run_id: int


# In whose thread the code of this context is executed; None: in no crew's.
seat: ContextVar[Seat | None] = ContextVar("jobs_seat", default=None)
