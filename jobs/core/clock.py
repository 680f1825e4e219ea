"""The clock comes from outside, so that tests can move it."""

import time
from datetime import UTC, datetime


class Clock:
    """Wall time for what is stored and shown, monotonic time for waits and liveness."""

    def now(self) -> datetime:
        """The wall clock as an aware UTC datetime."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back; comparable within this process only."""
        return time.monotonic()


_current = Clock()


def set_clock(clock: Clock) -> Clock:
    """Replace the process's clock and return the one before, so that a test can put it back."""
    global _current
    before, _current = _current, clock
    return before


def now() -> datetime:
    return _current.now()


def monotonic() -> float:
    return _current.monotonic()
