"""What the two in-memory schedulers share: the task, its one execution, the count and the log of outcomes."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import RLock
from typing import Any, Self

logger = logging.getLogger("jobs.core")

RESTART_FROM_INSIDE = (
    "start() was called by a task of this scheduler while the scheduler stops. The stop waits for that task, so the "
    "task cannot wait for the stop. Call start() from another thread, or after stop() has returned."
)

_NO_KEYWORDS: dict[str, Any] = {}  # shared: hardly a task has any, and a million empty ones cost much


class Task(Future):
    """One scheduled call, and the Future through which its caller sees the outcome.

    While `is_waiting` it belongs to nobody. Who sets that to False, under the scheduler's lock, owns the call: a worker
    to execute it, or `cancel()` to drop it.
    """

    def __init__(self, scheduler: "Scheduler", func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]):
        if not callable(func):
            raise TypeError(
                f"schedule() needs a function to call, got {type(func).__name__}. "
                "Pass the function itself and its arguments after it: schedule(func, ...), not schedule(func(...))."
            )
        super().__init__()
        self.scheduler = scheduler
        self.func, self.args, self.kwargs = func, args, kwargs or _NO_KEYWORDS
        self.is_waiting = True

    def cancel(self) -> bool:
        """Cancel the call if it has not begun: True means that it will never run. Its arguments are let go at once."""
        withdrawn = self.scheduler._withdraw(self)
        if withdrawn:
            self.release()
        try:
            return super().cancel()
        finally:
            if withdrawn:  # no worker will do it: wakes concurrent.futures.wait() and as_completed()
                self.set_running_or_notify_cancel()

    def release(self) -> tuple[Callable[..., Any], tuple, dict[str, Any]]:
        """Give the call to its owner. From now on the Future does not keep it alive."""
        call = self.func, self.args, self.kwargs
        self.func = self.args = self.kwargs = None
        return call


class Tally:
    """What one worker thread has brought to an end. Nobody else writes to it, so counting needs no lock."""

    def __init__(self) -> None:
        self.succeeded = 0
        self.failed = 0


class Scheduler:
    """The part of a scheduler that does not depend on the order of its tasks.

    Lock rule: nothing of the user's (function, callback, log handler, finalizer of an argument) runs under `_lock`.
    It is re-entrant, because a signal handler may schedule or stop while its thread holds the lock.
    """

    def __init__(self, threads: int) -> None:
        self._lock = RLock()
        self._tallies = [Tally() for _ in range(threads)]

    @property
    def succeeded(self) -> int:
        """How many tasks have returned."""
        return sum(tally.succeeded for tally in self._tallies)

    @property
    def failed(self) -> int:
        """How many tasks have raised."""
        return sum(tally.failed for tally in self._tallies)

    def __enter__(self) -> Self:
        self.start()
        return self

    def _withdraw(self, task: Task) -> bool:
        """Give a waiting task to the caller; False when a worker or another cancel() was first. Takes the lock."""
        raise NotImplementedError


def execute(task: Task, tally: Tally) -> None:
    """Run a task that the caller owns. Count and log the outcome, then tell it: who learns of it finds it counted.

    Raises nothing: neither a task nor a callback may end its worker.
    """
    func, args, kwargs = task.release()
    try:
        if not task.set_running_or_notify_cancel():
            return  # cancelled a moment ago
        try:
            result = func(*args, **kwargs)
        except BaseException as error:  # SystemExit and the like end only the task that raised them
            tally.failed += 1
            _log(logging.ERROR, "%s failed", func, error)
            task.set_exception(error)
        else:
            tally.succeeded += 1
            if logger.isEnabledFor(logging.DEBUG):
                _log(logging.DEBUG, "%s succeeded", func)
            task.set_result(result)
    except BaseException as error:
        _log(logging.ERROR, "Telling the outcome of %s was cut short", func, error)
    finally:
        # A failed task holds a traceback that leads to this frame: without this line a circle of references.
        del task


def _log(level: int, message: str, func: Callable[..., Any], error: BaseException | None = None) -> None:
    with suppress(BaseException):  # a log handler that raises must cost neither the outcome nor the worker
        logger.log(level, message, getattr(func, "__qualname__", type(func).__qualname__), exc_info=error)
