"""What a running function can ask and tell: `jobs.current_run()`. Imports no models: tasks modules may use it early."""

import sys
from collections.abc import Callable
from contextvars import ContextVar
from threading import Lock

from jobs.core import clock, crew
from jobs.core.crew import Seat
from jobs.core.wake import Flag
from jobs.errors import Cancelled, TimedOut
from jobs.runtime.limits import Limits, Overdue
from jobs.runtime.logs import LogBuffer

# A coroutine that was cancelled has so long to clean up: what it awaited may have swallowed the cancellation.
STOP_AGAIN_SECONDS = 10.0


class CurrentRun:
    """The run that executes in this context. Outside of one, a stand-in whose methods do nothing: a task function that
    is called as a plain function works all the same.

    `id` is the run's number and `attempt` counts its executions from 1; both are None in the stand-in.
    """

    id: int | None = None
    task: str | None = None
    attempt: int | None = None
    # Whether the run was asked to end, or its time is over. A function that can do so raises `jobs.Cancelled`, and the
    # run is cancelled or has timed out; one that goes on and returns has succeeded.
    cancel_requested: bool = False
    # Seconds until its `timeout`, negative when that is over; None: it has none.
    remaining: float | None = None

    def raise_if_cancelled(self) -> None:
        """Raise `jobs.Cancelled` if the run was asked to end, `jobs.TimedOut` if its time is over: call it where the
        function can stop."""

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far the work is: `done` of `total` (None: unknown), both finite and not negative, and a line of text.

        Cheap: what was said last is stored at most once a second. Raises TypeError or ValueError for other numbers.
        """
        _amount("done", done)
        if total is not None:
            _amount("total", total)

    @property
    def should_stop(self) -> bool:
        """Whether the worker is being shut down. A function that can stop early does so; what it does not finish in
        the time of grace is interrupted, and then its `on_lost` decides."""
        return False


class RunContext(CurrentRun):
    """A claimed run on its way through this process. Lock rule: `_lock` guards the progress, told by the function's
    threads and taken by the dispatcher."""

    def __init__(self, run, *, limits: Limits, stopping: Flag, claimed_at: float, max_log_bytes: int):
        self.run = run
        self.id = run.id
        self.task = run.task
        self.attempt = run.attempt
        self.claimed_at = claimed_at  # monotonic
        self.has_started = False
        self.reports = 0
        self.ticket = None  # what the executor finds it by
        self.seat: Seat | None = None  # in whose thread it is executed
        self.is_asked_to_end = self.is_told_overdue = False
        self.was_cut_short = False  # perhaps: somebody tried to end its function by force, in the middle of anything
        self.limits = limits
        self.log = LogBuffer(max_log_bytes)
        self._stopping = stopping
        self._stop: Callable[[], object] | None = None
        self._kill: Callable[[], object] | None = None
        self._stop_again_at = float("-inf")
        self._lock = Lock()
        self._progress: tuple[float, float | None, str] | None = None

    @property
    def key(self) -> tuple[int, int, int]:
        return self.run.key

    def begin(self) -> None:
        """The function starts now: its time runs."""
        self.limits.begin()

    @property
    def overdue(self) -> Overdue | None:
        """What it has passed, once it has."""
        return self.limits.passed

    @property
    def cancel_requested(self) -> bool:
        return self.is_asked_to_end or self.overdue is not None

    @property
    def remaining(self) -> float | None:
        return self.limits.remaining

    def raise_if_cancelled(self) -> None:
        if self.is_asked_to_end:
            raise Cancelled
        if self.overdue is not None:
            raise TimedOut(self.overdue.sentence)

    def can_be_stopped(self, stop: Callable[[], object]) -> None:
        """From now on `stop`, called in any thread, makes the function end."""
        self._stop = stop

    def can_be_killed(self, kill: Callable[[], object]) -> None:
        """From now on `kill`, called in any thread, ends the process in which the function is executed."""
        self._kill = kill

    def kill(self) -> None:
        """End the function at once, if there is a way: its run is another worker's from now on."""
        if self._kill is not None:
            self._kill()

    def stop_if_must(self) -> None:
        """Make the function end, if it has to and there is a way. Called by the dispatcher, again and again."""
        now = clock.monotonic()
        if self._stop is None or not self.cancel_requested or now < self._stop_again_at:
            return
        if self._stop() is not False:  # else it has not begun yet
            self._stop_again_at = now + STOP_AGAIN_SECONDS

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        told = _amount("done", done), None if total is None else _amount("total", total), str(message)
        self.limits.progressed()
        with self._lock:
            self._progress = told

    def take_progress(self) -> tuple[float, float | None, str] | None:
        """What was told since the last call, or None."""
        with self._lock:
            taken, self._progress = self._progress, None
        return taken

    @property
    def has_news(self) -> bool:
        return self._progress is not None or self.log.has_news

    @property
    def should_stop(self) -> bool:
        return self._stopping.is_set()


def _amount(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__}).")
    if not 0 <= value <= sys.float_info.max:  # exact for whole numbers of any size, and false for NaN
        raise ValueError(f"{name} must be finite and not negative, got {value!r:.80}.")
    return float(value)


_OUTSIDE = CurrentRun()
_current: ContextVar[CurrentRun] = ContextVar("jobs_current_run", default=_OUTSIDE)


def current_run() -> CurrentRun:
    """The run that this code executes in; outside of one, a stand-in (see `CurrentRun`)."""
    return _current.get()


def leave() -> None:
    """There is no current run any more: this is a fork of the process that executes it."""
    _current.set(_OUTSIDE)
    crew.seat.set(None)


def enter(context: RunContext) -> None:
    """Make `context` the current run of this context; it ends with the context."""
    _current.set(context)
    crew.seat.set(context.seat)
