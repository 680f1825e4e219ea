"""When a schedule fires: its rule, between its start and its end. Pure arithmetic; all moments are aware.

No computation walks a long time step by step, however far the clock has moved; cron expressions are counted by the day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Protocol

from jobs.core.cron import Cron, read_zone
from jobs.core.rule_error import RuleError

SHORTEST_SECONDS = 1
LONGEST_SECONDS = 10 * 366 * 86_400

# What says when a schedule fires: the names of the parameters of `recurrence`, and of the columns of a schedule.
RULE = ("kind", "expression", "interval_seconds", "anchor_at", "time_zone", "starts_at", "ends_at")

_MICROSECOND = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


class Rule(Protocol):
    """Fire times without a start and an end."""

    def after(self, moment: datetime) -> Iterator[datetime]: ...

    def last_until(self, moment: datetime) -> datetime | None: ...

    def count(self, after: datetime, until: datetime) -> int: ...

    @property
    def words(self) -> str: ...


@dataclass(frozen=True)
class Interval:
    """Every so often, counted from an anchor in both directions, in elapsed time."""

    step: timedelta
    anchor: datetime

    @classmethod
    def of(cls, seconds: float | None, anchor: datetime | None) -> "Interval":
        """RuleError unless it is between a second and ten years."""
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not is_number or not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
            expected = f"an interval of {SHORTEST_SECONDS} to {LONGEST_SECONDS:,} seconds (ten years)"
            raise RuleError("interval_seconds", f"Expected {expected}, got {seconds!r:.80}.")
        return cls(timedelta(seconds=seconds), _in_utc(anchor, "the moment from which the intervals are counted"))

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The fire times after `moment`, none of them at it; they end with the calendar."""
        number = self._number(moment) + 1
        while (fires_at := self._at(number)) is not None:
            yield fires_at
            number += 1

    def last_until(self, moment: datetime) -> datetime | None:
        """The last fire time that is not after `moment`."""
        return self._at(self._number(moment))

    def count(self, after: datetime, until: datetime) -> int:
        """How many fire times there are after `after` and not after `until`."""
        return max(0, self._number(until) - self._number(after))

    def _number(self, moment: datetime) -> int:
        return (moment - self.anchor) // self.step

    def _at(self, number: int) -> datetime | None:
        try:
            return self.anchor + number * self.step
        except OverflowError:
            return None

    @property
    def words(self) -> str:
        return f"Every {duration_words(self.step)}"


@dataclass(frozen=True)
class Once:
    """A single moment."""

    at: datetime
    zone_name: str = "UTC"

    @classmethod
    def of(cls, at: datetime | None, zone_name: str) -> "Once":
        """RuleError without a moment."""
        return cls(_in_utc(at, "the moment at which it is to run"), read_zone(zone_name).key)

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The moment, if it is after this one."""
        return iter((self.at,) if self.at > moment else ())

    def last_until(self, moment: datetime) -> datetime | None:
        """The moment, if it is not after this one."""
        return self.at if self.at <= moment else None

    def count(self, after: datetime, until: datetime) -> int:
        """1 if the moment is after `after` and not after `until`, else 0."""
        return int(after < self.at <= until)

    @property
    def words(self) -> str:
        try:
            local, zone_name = self.at.astimezone(read_zone(self.zone_name)), self.zone_name
        except OverflowError:  # the calendar ends earlier there
            local, zone_name = self.at, "UTC"
        return f"Once, at {local.replace(tzinfo=None).isoformat(' ', 'seconds')} ({zone_name})"


@dataclass(frozen=True)
class Recurrence:
    """A rule between a start and an end, both included; None for no limit."""

    rule: Rule
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The fire times after `moment`, none of them at it, in UTC, in order."""
        if self.starts_at is not None:
            moment = max(moment, just_before(self.starts_at))
        times = self.rule.after(moment)
        return times if self.ends_at is None else takewhile(lambda fires_at: fires_at <= self.ends_at, times)

    def next_after(self, moment: datetime) -> datetime | None:
        """The first fire time after `moment`; None if there is none any more."""
        return next(self.after(moment), None)

    def first(self, count: int, moment: datetime) -> list[datetime]:
        """At most `count` fire times after `moment`."""
        return list(islice(self.after(moment), count))

    def last_until(self, moment: datetime) -> datetime | None:
        """The last fire time that is not after `moment`; None if there was none yet."""
        found = self.rule.last_until(moment if self.ends_at is None else min(moment, self.ends_at))
        return None if found is None or (self.starts_at and found < self.starts_at) else found

    def count(self, after: datetime, until: datetime) -> int:
        """How many fire times there are after `after` and not after `until`."""
        if self.starts_at is not None:
            after = max(after, just_before(self.starts_at))
        if self.ends_at is not None:
            until = min(until, self.ends_at)
        return self.rule.count(after, until) if after < until else 0

    @property
    def words(self) -> str:
        """The rule as people say it."""
        return self.rule.words


def _in_utc(moment: datetime | None, expected: str) -> datetime:
    if moment is None:
        raise RuleError("anchor_at", f"Expected {expected}, got none.")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise RuleError("anchor_at", f"Expected {expected}, in the years 1 to 9999 of UTC, got {moment}.") from None


def just_before(moment: datetime) -> datetime:
    """The last moment before this one: what comes after that begins with it. At the edge of the calendar, itself."""
    return moment - _MICROSECOND if moment > _EARLIEST else moment


def recurrence(
    kind: str,
    *,
    expression: str = "",
    interval_seconds: float | None = None,
    anchor_at: datetime | None = None,
    time_zone: str = "UTC",
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> Recurrence:
    """The recurrence that the columns of a schedule describe. RuleError, which names the column, if they do not."""
    read_zone(time_zone)
    if kind == "cron":
        rule = Cron.of(expression, time_zone)
    elif kind == "interval":
        rule = Interval.of(interval_seconds, anchor_at)
    elif kind == "once":
        rule = Once.of(anchor_at, time_zone)
    else:
        raise RuleError("kind", f"Expected cron, interval or once, got {kind!r:.80}.")
    if starts_at is not None and ends_at is not None and ends_at < starts_at:
        raise RuleError("ends_at", f"Expected an end that is not before the start, {starts_at}, got {ends_at}.")
    return Recurrence(rule, starts_at, ends_at)


def duration_words(duration: timedelta) -> str:
    """A duration in days, hours, minutes and seconds: "minute", "5 minutes", "1 hour 30 minutes"."""
    seconds, fraction = divmod(duration, _SECOND)
    parts = []
    for size, name in _UNITS:
        number, seconds = divmod(seconds, size)
        amount = str(number)
        if size == 1 and fraction:
            amount += f".{fraction.microseconds:06}".rstrip("0")
        if amount != "0":
            parts.append(f"{amount} {name}{'' if amount == '1' else 's'}")
    return parts[0].removeprefix("1 ") if len(parts) == 1 else " ".join(parts)
