"""Cron expressions, read and computed by the library cronsim, which follows Debian's cron.

Five fields: minute, hour, day of month, month, day of week (0 and 7 are Sunday; names as MON and JAN; L the last, LW
the last weekday, 5L the last Friday, MON#1 the first Monday), or a name in NAMED. If both the day of month and the
day of week are restricted, either is enough, unless one of them begins with a star: then both must fit.

When the clocks change (Debian's rule): an expression whose minute or hour begins with a star follows elapsed time. Any
other one names times of day: a time that the clocks skip fires once, right after the gap, and a time that comes twice
fires once, at the first.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import takewhile
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim

from jobs.core.clock_changes import clock_changes, exists, first_moment, local_time, offset
from jobs.core.cron_text import never_fires, read_expression
from jobs.core.rule_error import RuleError

# The library writes 31th.
_ENDINGS = re.compile(r"\b(2[123]|31)th\b")
_ENDING = {"1": "st", "2": "nd", "3": "rd"}
_ANY_DAY = datetime(2027, 1, 1)
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)
_FIFTY_YEARS = timedelta(days=50 * 366)
# The ends of the calendar: days that every zone has.
_FIRST, _LAST = datetime(1, 1, 5, tzinfo=UTC), datetime(9999, 12, 27, tzinfo=UTC)


@dataclass(frozen=True)
class Cron:
    """The times that an expression names by the clock of a zone. All moments that come and go are aware; those that it
    gives are in UTC, whole seconds, and strictly increase. Make one with `Cron.of`."""

    expression: str  # five fields
    zone: ZoneInfo

    @classmethod
    def of(cls, text: str, zone_name: str) -> "Cron":
        """Read an expression, or a name such as @daily. RuleError, which names the part, if it cannot be understood or
        would never fire."""
        cron = cls(read_expression(text), read_zone(zone_name))
        if next(cron.after(_ANY_DAY.replace(tzinfo=UTC)), None) is None:
            raise never_fires(cron.expression)
        return cron

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The fire times after `moment`, none of them at it. They end with the calendar, or with fifty years without
        one."""
        times = self._in_elapsed_time if self.follows_elapsed_time else self._at_times_of_day
        try:
            yield from takewhile(_LAST.__ge__, times(_within_calendar(moment)))
        except OverflowError:  # the year 9999 is over
            return

    def _at_times_of_day(self, moment: datetime) -> Iterator[datetime]:
        for local in CronSim(self.expression, local_time(self.zone, moment)):
            fires_at = first_moment(self.zone, local)
            if fires_at > moment:  # else it has come before, or is the next of those that are skipped together
                yield (moment := fires_at)

    def _in_elapsed_time(self, moment: datetime) -> Iterator[datetime]:
        """From one change of the clocks to the next: in between, each local time is there once. The library's own way
        loses times when half an hour is repeated, and fires at a midnight that is skipped."""
        last, start = moment, local_time(self.zone, moment)
        while moment - last < _FIFTY_YEARS:
            shift = offset(self.zone, moment)
            for local in CronSim(self.expression, start):
                fires_at = (local - shift).replace(tzinfo=UTC)
                if change := next(clock_changes(self.zone, moment, fires_at), None):
                    break
                last = moment = fires_at
                yield fires_at
            else:
                return
            moment, start = change.at, local_time(self.zone, change.at) - _SECOND

    def last_until(self, moment: datetime) -> datetime | None:
        """The last fire time that is not after `moment`."""
        moment = _within_calendar(moment)
        last = self._one_until(moment)
        if last is None:
            return None
        for fires_at in self.after(last):  # hardly any: what is skipped, or comes again
            if fires_at > moment:
                break
            last = fires_at
        return last

    def _one_until(self, moment: datetime) -> datetime | None:
        """The last one by the local times, the first time that they come."""
        end = local_time(self.zone, moment).replace(microsecond=0) + _SECOND
        try:
            for local in CronSim(self.expression, end, reverse=True):
                if exists(self.zone, local) and (fires_at := first_moment(self.zone, local)) <= moment:
                    return fires_at if fires_at > _FIRST else None
        except OverflowError:  # the year 1
            pass
        return None

    def count(self, after: datetime, until: datetime) -> int:
        """How many fire times there are after `after` and not after `until`: by the day, and one by one only where the
        clocks change."""
        after, until, count = _within_calendar(after), _within_calendar(until), 0
        for change in clock_changes(self.zone, after - _DAY, until):
            start = max(after, change.at - _SECOND)
            end = min(until, change.at + (change.end - change.start))
            if start < end:
                count += self._count_by_day(after, start) + self._count_one_by_one(start, end)
                after = end
        return count + self._count_by_day(after, until)

    def _count_one_by_one(self, after: datetime, until: datetime) -> int:
        return sum(1 for _ in takewhile(until.__ge__, self.after(after)))

    def _count_by_day(self, after: datetime, until: datetime) -> int:
        """The same, where the clocks do not change."""
        if after >= until:
            return 0
        start, end = local_time(self.zone, after), local_time(self.zone, until)
        days = map(date.fromordinal, range(start.toordinal(), end.toordinal()))
        per_day = len(self._sim.minutes) * len(self._sim.hours)
        return per_day * sum(map(self._names_day, days)) - self._count_within_day(start) + self._count_within_day(end)

    def _count_within_day(self, end: datetime) -> int:
        """How many there are from midnight to `end`, by the local times."""
        if not self._names_day(end):
            return 0
        return sum((hour, minute) <= (end.hour, end.minute) for hour in self._sim.hours for minute in self._sim.minutes)

    def _names_day(self, day: date) -> bool:
        return day.month in self._sim.months and self._sim.match_day(day)

    @cached_property
    def _sim(self) -> CronSim:
        return CronSim(self.expression, _ANY_DAY)

    @property
    def words(self) -> str:
        """The expression in English, as the library explains it, with the zone."""
        text = _ENDINGS.sub(lambda found: found[1] + _ENDING[found[1][-1]], self._sim.explain())
        _, _, day, _, weekday = self.expression.split()
        is_either = "*" not in (day[0], weekday[0])
        return f"{text.replace(' and on ', ' or on ') if is_either else text} ({self.zone.key})"

    @property
    def follows_elapsed_time(self) -> bool:
        """Whether minute or hour begins with a star: it then fires at every such time that there is."""
        minute, hour, *_ = self.expression.split()
        return minute.startswith("*") or hour.startswith("*")


def _within_calendar(moment: datetime) -> datetime:
    return min(max(moment, _FIRST), _LAST).astimezone(UTC)


def read_zone(name: str) -> ZoneInfo:
    """The time zone of this name; RuleError if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        expected = "Expected a time zone such as Europe/Berlin or UTC"
        raise RuleError("time_zone", f"{expected}, got {name!r:.80}.") from None
