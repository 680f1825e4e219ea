"""Random expressions with what they mean, and a model that looks at every minute."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from jobs.core.clock_changes import clock_changes

ZONES = [
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu",
    "Africa/Casablanca", "Pacific/Apia", "America/St_Johns", "America/Nuuk", "Asia/Gaza", "Pacific/Kiritimati",
]  # fmt: skip
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]


def utc(text: str) -> datetime:
    """2027-03-28T01:00, with or without seconds, as a moment."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass(frozen=True)
class Field:
    """One field: its text, and what it names: numbers, and for days also L, LW, (weekday, L) and (weekday, number)."""

    text: str
    named: frozenset


@dataclass(frozen=True)
class Model:
    """An expression, and what it means by the manual of Debian's cron."""

    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @property
    def text(self):
        return " ".join(field.text for field in (self.minute, self.hour, self.day, self.month, self.weekday))

    @property
    def follows_elapsed_time(self):
        return "*" in (self.minute.text[0], self.hour.text[0])

    def names(self, local: datetime) -> bool:
        return (
            local.minute in self.minute.named
            and local.hour in self.hour.named
            and local.month in self.month.named
            and self._names_day(local.date())
        )

    def _names_day(self, day: date) -> bool:
        last = monthrange(day.year, day.month)[1]
        weekdays = [date(day.year, day.month, number).isoweekday() for number in range(1, last + 1)]
        last_workday = max(number for number, weekday in enumerate(weekdays, 1) if weekday <= 5)
        special = {"L": last, "LW": last_workday}
        is_day = day.day in {special.get(each, each) for each in self.day.named}
        weekday = day.isoweekday() % 7
        is_weekday = not self.weekday.named.isdisjoint(
            {weekday, (weekday, (day.day + 6) // 7), *([(weekday, "L")] if day.day + 7 > last else [])}
        )
        if "*" in (self.day.text[0], self.weekday.text[0]):
            return is_day and is_weekday
        return is_day or is_weekday

    def times(self, zone: ZoneInfo, after: datetime, until: datetime) -> list[datetime]:
        """All fire times after `after` and not after `until`, minute by minute."""
        moment = after.astimezone(UTC).replace(second=0, microsecond=0)
        shown, found = moment.astimezone(zone).replace(tzinfo=None), []
        while (moment := moment + MINUTE) <= until:
            before, aware = shown, moment.astimezone(zone)
            shown = aware.replace(tzinfo=None, fold=0)
            if self._fires(before, shown, is_again=aware.fold == 1):
                found.append(moment)
        return found

    def _fires(self, before: datetime, shown: datetime, is_again: bool) -> bool:
        if self.follows_elapsed_time:
            return self.names(shown)
        skipped = (before + number * MINUTE for number in range(1, (shown - before) // MINUTE))
        return any(map(self.names, skipped)) or (self.names(shown) and not is_again)


def written(number: int, names=(), first=0):
    """A number as it may be written."""
    is_named = first <= number < first + len(names)
    return st.sampled_from([str(number), names[number - first]] if is_named else [str(number)])


@st.composite
def terms(draw, low, high, names=(), first=0):
    """One item of a list."""
    kind = draw(st.sampled_from(["star", "value", "range", "star/step", "value/step", "range/step"]))
    if kind.startswith("star"):
        text, start, end = "*", low, high
    else:
        start = draw(st.integers(low, high - 1 if kind == "range/step" else high))
        text, end = draw(written(start, names, first)), high if kind == "value/step" else start
    if kind.startswith("range"):
        end = draw(st.integers(start + (kind == "range/step"), high))
        text = f"{text}-{draw(written(end, names, first))}"
    step = draw(st.integers(1, high)) if kind.endswith("step") else 1
    return Field(f"{text}/{step}" if kind.endswith("step") else text, frozenset(range(start, end + 1, step)))


def fields(term, star):
    """Mostly a star, or else a list of terms."""
    listed = st.lists(term, min_size=1, max_size=3).map(
        lambda items: Field(",".join(item.text for item in items), frozenset().union(*(item.named for item in items)))
    )
    return st.just(star) | st.just(star) | listed


STAR = {name: Field("*", frozenset(span)) for name, span in (
    ("minute", range(60)), ("hour", range(24)), ("day", range(1, 32)), ("month", range(1, 13)), ("weekday", range(7)),
)}  # fmt: skip
CHANGE_HOURS = st.sampled_from([0, 1, 2, 3, 23]).map(lambda hour: Field(str(hour), frozenset({hour})))
LAST_DAYS = st.sampled_from(["L", "LW"]).map(lambda text: Field(text, frozenset({text})))
LAST_WEEKDAYS = st.integers(0, 7).map(lambda number: Field(f"{number}L", frozenset({(number % 7, "L")})))
NTH_WEEKDAYS = st.tuples(st.integers(0, 7), st.integers(1, 5), st.booleans()).map(
    lambda drawn: Field(
        f"{WEEKDAYS[drawn[0] % 7] if drawn[2] else drawn[0]}#{drawn[1]}", frozenset({(drawn[0] % 7, drawn[1])})
    )
)


def sundays(field: Field) -> Field:
    """Both 0 and 7 are Sunday."""
    return Field(field.text, field.named | ({0} if 7 in field.named else set()))


EXPRESSIONS = st.builds(
    Model,
    fields(terms(0, 59), STAR["minute"]),
    fields(terms(0, 23) | CHANGE_HOURS, STAR["hour"]),
    fields(terms(1, 31) | LAST_DAYS, STAR["day"]),
    fields(terms(1, 12, MONTHS, 1), STAR["month"]),
    fields(terms(0, 7, WEEKDAYS).map(sundays) | LAST_WEEKDAYS | NTH_WEEKDAYS, STAR["weekday"]),
)  # fmt: skip


@cache
def changes_of(zone_name: str) -> list[datetime]:
    return [change.at for change in clock_changes(ZoneInfo(zone_name), utc("2005-01-01"), utc("2037-01-01"))]


@st.composite
def moments(draw, zone_name: str):
    """A moment, in UTC or by the zone's clock; half of them are near a change of the clocks."""
    changes = changes_of(zone_name)
    if changes and draw(st.booleans()):
        moment = draw(st.sampled_from(changes)) + draw(st.timedeltas(-DAY, DAY))
    else:
        moment = draw(st.datetimes(datetime(2005, 1, 1), datetime(2036, 12, 31), timezones=st.just(UTC)))
    whole = draw(st.sampled_from(["", "second", "minute"]))
    if whole:
        moment = moment.replace(microsecond=0, second=0 if whole == "minute" else moment.second)
    return moment.astimezone(draw(st.sampled_from([UTC, ZoneInfo(zone_name)])))
