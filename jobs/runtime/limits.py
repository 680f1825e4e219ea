"""How long an execution may take, and how long it may tell no progress."""

from dataclasses import dataclass
from math import isfinite

from jobs.core import clock
from jobs.core.states import Reason


@dataclass(frozen=True, slots=True)
class Overdue:
    """Which limit an execution has passed, and how many seconds that was."""

    reason: Reason
    seconds: float

    @property
    def sentence(self) -> str:
        what = "took longer than" if self.reason == Reason.TIMED_OUT else "told no progress for"
        return f"The run {what} {self.seconds:g} seconds."


class Limits:
    """The limits of one execution, in seconds; None: none. A limit that was passed stays passed, whatever the function
    does afterwards.

    Asked and told by the function's threads and by the dispatcher: each attribute is set in one step.
    """

    def __init__(self, timeout: float | None, progress_timeout: float | None):
        self._timeout = _usable(timeout)
        self._progress_timeout = _usable(progress_timeout)
        self._started_at: float | None = None  # monotonic, like all here
        self._progress_at = 0.0
        self._passed: Overdue | None = None

    def __bool__(self) -> bool:
        return self._timeout is not None or self._progress_timeout is not None

    @property
    def seconds(self) -> tuple[float | None, float | None]:
        """Timeout and progress timeout."""
        return self._timeout, self._progress_timeout

    def begin(self) -> None:
        self._progress_at = self._started_at = clock.monotonic()

    def progressed(self) -> None:
        if self.passed is None:
            self._progress_at = clock.monotonic()

    @property
    def remaining(self) -> float | None:
        """Seconds until the timeout; None without one."""
        if self._timeout is None or self._started_at is None:
            return self._timeout
        return self._started_at + self._timeout - clock.monotonic()

    @property
    def next_in(self) -> float:
        """Seconds until the next limit; infinite when there is none, or it is passed already."""
        if self._passed or self._started_at is None:
            return float("inf")
        return min((rest for rest, _ in self._rests()), default=float("inf"))

    @property
    def passed(self) -> Overdue | None:
        if self._passed is None and self._started_at is not None and self:
            rest, overdue = min(self._rests(), key=lambda each: each[0])
            if rest <= 0:
                self._passed = overdue
        return self._passed

    def _rests(self) -> list[tuple[float, Overdue]]:
        now, rests = clock.monotonic(), []
        if self._timeout is not None:
            rests.append((self._started_at + self._timeout - now, Overdue(Reason.TIMED_OUT, self._timeout)))
        if self._progress_timeout is not None:
            quiet = self._progress_at + self._progress_timeout - now
            rests.append((quiet, Overdue(Reason.STUCK, self._progress_timeout)))
        return rests


def _usable(seconds: float | None) -> float | None:
    """Somebody may have written anything there."""
    return seconds if seconds is not None and isfinite(seconds) and seconds > 0 else None
