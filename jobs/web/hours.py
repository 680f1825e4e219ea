"""The axis of a drawing of time: its hours by the clock of a zone, its days, and where the clocks change."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from jobs.core.clock_changes import ClockChange, clock_changes
from jobs.core.recurrence import duration_words
from jobs.web.upcoming import Period

_HOUR = timedelta(hours=1)
# So near to the edges, or to what stands at the left edge, in percent, a text does not fit: on a desk, on a phone.
_NEAR, _NEAR_ON_PHONE = 6, 16
_NEAR_A_DATE, _NEAR_A_DATE_ON_PHONE = 11, 30


@dataclass(frozen=True)
class Mark:
    """A line in the drawing, in percent from its left, and the text above it."""

    percent: float
    text: str = ""
    is_major: bool = False  # is told where there is little room too
    is_day: bool = False
    is_change: bool = False


def hour_marks(period: Period, zone: tzinfo) -> list[Mark]:
    """The full hours after the start of the period. Every third one has a text."""
    return [_hour_mark(local, period) for local in _full_hours(period, zone)]


def _hour_mark(local: datetime, period: Period) -> Mark:
    percent = period.percent(local)
    has_text = local.hour % 3 == 0 and _NEAR <= percent <= 100 - _NEAR
    is_major = local.hour % 6 == 0 and percent >= _NEAR_ON_PHONE
    return Mark(percent, f"{local:%H:%M}" if has_text else "", is_major)


def day_marks(period: Period, zone: tzinfo) -> list[Mark]:
    """The day that the period begins in, and where the others begin."""
    day = period.start.astimezone(zone).date()
    changes = []
    for local in _full_hours(period, zone):  # where the clocks skip midnight, the day begins at one
        if local.date() != day:
            day = local.date()
            changes.append(Mark(period.percent(local), _day_text(local), is_major=True, is_day=True))
    return [_first_day(period.start.astimezone(zone), changes[0].percent if changes else 100), *changes]


def _first_day(local: datetime, room: float) -> Mark:
    return Mark(0, _day_text(local) if room >= _NEAR_A_DATE else "", is_major=room >= _NEAR_A_DATE_ON_PHONE)


def _day_text(local: datetime) -> str:
    return f"{local:%a} {local.day} {local:%b}"


def _full_hours(period: Period, zone: tzinfo) -> Iterator[datetime]:
    moment = period.start
    while True:
        local = moment.astimezone(zone)
        moment += _HOUR - timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        if moment > period.end:
            return
        local = moment.astimezone(zone)
        if not local.minute:  # else the clocks have changed by a part of an hour
            yield local


def change_marks(period: Period, zone: tzinfo) -> list[Mark]:
    """Where the clocks change."""
    changes = clock_changes(zone, period.start.astimezone(UTC), period.end.astimezone(UTC))
    return [Mark(period.percent(change.at), _change_text(change), is_change=True) for change in changes]


def _change_text(change: ClockChange) -> str:
    """What the change does, in a sentence."""
    by = duration_words(change.end - change.start)
    by = by if by[0].isdigit() else f"1 {by}"
    day, start, end = f"{change.start:%Y-%m-%d}", f"{change.start:%H:%M}", f"{change.end:%H:%M}"
    if change.is_gap:
        return f"On {day} at {start} the clocks are set on by {by}: there is no time from {start} to {end}."
    return f"On {day} at {end} the clocks are set back by {by}: the time from {start} to {end} comes twice."
