"""When a schedule will fire, and what is worth knowing about it, for whoever is about to save it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from jobs.core import clock
from jobs.core.clock_changes import remarks
from jobs.core.cron import Cron, read_zone
from jobs.core.recurrence import RULE, Recurrence, recurrence
from jobs.core.rule_error import RuleError
from jobs.models import Schedule

SHOWN = 10

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Preview:
    """The rule in words, its next times by the clock of its zone (aware), and sentences about what may surprise."""

    words: str
    zone: str
    times: list[datetime]
    remarks: list[str]

    @property
    def lines(self) -> list[str]:
        """The times for people: "Sun 2026-10-25 02:30:00 +01:00"."""
        return [zoned(time) for time in self.times]

    def as_json(self) -> dict:
        return {
            "words": self.words,
            "zone": self.zone,
            "next": [time.isoformat() for time in self.times],
            "next_utc": [time.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z" for time in self.times],
            "remarks": self.remarks,
        }


def preview(rule: dict, now: datetime | None = None, count: int = SHOWN) -> Preview:
    """What becomes of a rule, given by the names of `RULE`, from `now` on. Raises RuleError, which names the field."""
    now = now or clock.now()
    found = recurrence(**rule)
    zone = read_zone(rule.get("time_zone", "UTC"))
    times = [by_clock_of(zone, time) for time in found.first(count, now)]
    return Preview(found.words, zone.key, times, _remarks(found, zone, now, has_slot=bool(times)))


def preview_of(schedule: Schedule, now: datetime | None = None, count: int = SHOWN) -> Preview:
    """The same for a schedule, stored or not."""
    return preview({name: getattr(schedule, name) for name in RULE}, now, count)


def zone_or_utc(name: object) -> ZoneInfo:
    """The time zone of this name; UTC where there is none, so that moments can be read and shown all the same."""
    try:
        return read_zone(name)
    except RuleError:
        return read_zone("UTC")


def by_clock_of(zone: ZoneInfo, moment: datetime) -> datetime:
    """The moment in a zone; in UTC in the last hours of all time, which some zones do not have."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.astimezone(UTC)


def zoned(time: datetime) -> str:
    """A time for people, with its weekday and its offset."""
    offset = time.isoformat()[len(time.replace(tzinfo=None).isoformat()) :]
    return f"{_WEEKDAYS[time.weekday()]} {time.replace(tzinfo=None).isoformat(' ', 'seconds')} {offset}"


def _remarks(found: Recurrence, zone: ZoneInfo, now: datetime, *, has_slot: bool) -> list[str]:
    if not has_slot:
        return ["It has no slot any more."]
    start, end = max(now, found.starts_at or now), found.ends_at
    told = remarks(found.rule, start, end) if isinstance(found.rule, Cron) else []
    if found.ends_at is not None:
        told.append(f"It ends at {zoned(by_clock_of(zone, found.ends_at))}.")
    return told
