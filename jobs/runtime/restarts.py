"""When a worker process that has ended is started again. Pure arithmetic: who asks also tells the time."""

from datetime import timedelta

from jobs.core.retry import Backoff

PAUSES = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=60), jitter=0)
# A process that lived so long was able to work: its end is not the next one of a series.
HEALTHY_SECONDS = 60.0


class Place:
    """One of the worker processes that a supervisor keeps, through all its restarts: its pauses are its own.

    Times are seconds of a monotonic clock. A new place is due at once.
    """

    def __init__(self, number: int):
        self.number = number
        self._due_at = float("-inf")
        self._started_at = 0.0
        self._quick_ends = 0

    def starts_in(self, now: float) -> float:
        """Seconds until a process is to be started here; infinite while one is here, and after `close`."""
        return max(0.0, self._due_at - now)

    def started(self, now: float) -> None:
        self._started_at, self._due_at = now, float("inf")

    def ended(self, now: float) -> float:
        """Its process has ended, or could not even be started. Returns the seconds until the next one: 1, 2, 4 … 60,
        and 1 again after one that lived for HEALTHY_SECONDS."""
        is_quick = now - self._started_at < HEALTHY_SECONDS
        self._quick_ends = self._quick_ends + 1 if is_quick else 1
        pause = PAUSES.pause(self._quick_ends).total_seconds()
        self._due_at = now + pause
        return pause

    def close(self) -> None:
        """Start none here any more."""
        self._due_at = float("inf")
