"""The order key: the one number by which ready runs are ordered, in the heap and in the index alike.

    order_key = effective_priority * ageing + ready_at        (all in microseconds)

Strict order makes a level of priority worth 2**52 us (142 years) of waiting. With an ageing of A a level is worth
exactly A of waiting, so nothing enqueued later than t0 + (p - q) * A passes a run of priority p from t0, and no row is
ever rewritten for it.
"""

from datetime import UTC, datetime, timedelta

MIN_PRIORITY = -100
MAX_PRIORITY = 100

STRICT_AGEING = 2**52

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """`moment` (aware) as whole microseconds since 1970-01-01 UTC, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """The inverse of `microseconds`."""
    return _EPOCH + timedelta(microseconds=value)


def ageing_microseconds(ageing_seconds: float | None) -> int:
    """What one level of priority is worth: `ageing_seconds` > 0, or None for strict priority."""
    return STRICT_AGEING if ageing_seconds is None else round(ageing_seconds * 1_000_000)


def order_key(effective_priority: int, ready_at: datetime, ageing: int) -> int:
    """The key of a run; the smaller, the sooner. `ageing` comes from `ageing_microseconds`."""
    return effective_priority * ageing + microseconds(ready_at)


def check_priority(priority: object) -> int:
    """Return `priority` if it is a whole number from -100 (most urgent) to 100; TypeError or ValueError if not."""
    if type(priority) is not int:
        raise TypeError(
            f"priority must be a whole number from {MIN_PRIORITY} (most urgent) to {MAX_PRIORITY}, "
            f"got {priority!r} ({type(priority).__name__})."
        )
    if not MIN_PRIORITY <= priority <= MAX_PRIORITY:
        raise ValueError(f"priority must lie between {MIN_PRIORITY} (most urgent) and {MAX_PRIORITY}, got {priority}.")
    return priority
