"""When the clocks of a zone change, and what that does to a cron expression, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from cronsim import CronSim

if TYPE_CHECKING:
    from jobs.core.cron import Cron

LOOK_AHEAD = timedelta(days=370)

_STEP = timedelta(days=1)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class ClockChange:
    """A moment at which the clocks of a zone are set on or back. `start` and `end` are the local times that are skipped
    or come twice, without a zone, the end not included."""

    at: datetime
    start: datetime
    end: datetime
    is_gap: bool


def clock_changes(zone: ZoneInfo, after: datetime, until: datetime) -> Iterator[ClockChange]:
    """The changes after `after` and not after `until` (both UTC), in order."""
    old = offset(zone, after)
    while after < until:
        step = after + _STEP if until - after > _STEP else until
        new = offset(zone, step)
        if old != new:
            yield _change(zone, after, step)
        after, old = step, new


def offset(zone: ZoneInfo, moment: datetime) -> timedelta:
    """How far the clocks of the zone are before UTC."""
    return moment.astimezone(zone).utcoffset()


def local_time(zone: ZoneInfo, moment: datetime) -> datetime:
    """What the clocks of the zone show, without the zone."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def exists(zone: ZoneInfo, local: datetime) -> bool:
    """Whether the clocks ever show this local time, or skip it."""
    return local_time(zone, local.replace(tzinfo=zone).astimezone(UTC)) == local


def first_moment(zone: ZoneInfo, local: datetime) -> datetime:
    """When the clocks show this local time for the first time, in UTC; if they skip it, when they do."""
    moment = local.replace(tzinfo=zone).astimezone(UTC)
    if exists(zone, local):
        return moment
    before = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return next(clock_changes(zone, before, moment)).at


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> ClockChange:
    old, new = offset(zone, before), offset(zone, after)
    before, after = before.replace(microsecond=0), after.replace(microsecond=0)
    while after - before > _SECOND:
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if offset(zone, middle) == old:
            before = middle
        else:
            after = middle
    utc = after.replace(tzinfo=None)
    return ClockChange(after, utc + min(old, new), utc + max(old, new), is_gap=new > old)


def remarks(cron: Cron, now: datetime, until: datetime | None = None) -> list[str]:
    """What a person should know about the next year, or what of it is not after `until`: a sentence for each change of
    the clocks that meets the expression."""
    now = now.astimezone(UTC)
    if cron.follows_elapsed_time and len(CronSim(cron.expression, now).hours) == 24:  # every hour that there is
        return []
    try:
        end = now + LOOK_AHEAD
        changes = list(clock_changes(cron.zone, now, end if until is None else min(end, until.astimezone(UTC))))
    except OverflowError:
        return []
    return [text for change in changes if (text := _remark(cron, change))]


def _remark(cron: Cron, change: ClockChange) -> str:
    named = _named_times(cron, change)
    if not named:
        return ""
    times, twice = _times(named), "comes twice" if len(named) == 1 else "come twice"
    if cron.follows_elapsed_time:
        what = (
            f"there is no {times}: it does not fire then" if change.is_gap else f"{times} {twice}: it fires both times"
        )
    elif change.is_gap:
        what = f"the clocks skip {times}: it fires once at {_end(change)} instead"
    else:
        what = f"{times} {twice}: it fires at the first only"
    return f"On {change.start:%Y-%m-%d} {what}."


def _named_times(cron: Cron, change: ClockChange) -> list[datetime]:
    """The local times in the gap, or in the repeated hour, that the expression names."""
    found = []
    for local in CronSim(cron.expression, change.start - _SECOND):
        if local >= change.end:
            break
        found.append(local)
    return found


def _times(named: list[datetime]) -> str:
    first, last = f"{named[0]:%H:%M}", f"{named[-1]:%H:%M}"
    return first if len(named) == 1 else f"{first} to {last}"


def _end(change: ClockChange) -> str:
    """With its date, if that is another one."""
    is_same_day = change.end.date() == change.start.date()
    return f"{change.end:%H:%M}" if is_same_day else f"{change.end:%Y-%m-%d %H:%M}"
