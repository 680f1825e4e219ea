"""When the clocks change, and what a person is told about it."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest

from jobs.core.clock_changes import LOOK_AHEAD, clock_changes, exists, first_moment, remarks
from jobs.core.cron import Cron
from tests.core.cron_tools import ZONES, utc

NOW = utc("2027-01-01T12:34:56.789")
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
MORE_ZONES = [*ZONES, "Africa/Cairo", "America/Santiago", "Antarctica/Troll", "Asia/Beirut", "Europe/Dublin"]

# Zone, from when on, then for each change: when, from, to, and whether it is a gap.
CHANGES = {
    "Berlin": (
        "Europe/Berlin", "2027-01-01",
        ("2027-03-28T01:00", "2027-03-28T02:00", "2027-03-28T03:00", True),
        ("2027-10-31T01:00", "2027-10-31T02:00", "2027-10-31T03:00", False),
    ),
    "half an hour": (
        "Australia/Lord_Howe", "2027-01-01",
        ("2027-04-03T15:00", "2027-04-04T01:30", "2027-04-04T02:00", False),
        ("2027-10-02T15:30", "2027-10-03T02:00", "2027-10-03T02:30", True),
    ),
    "midnight": (
        "America/Havana", "2027-01-01",
        ("2027-03-14T05:00", "2027-03-14T00:00", "2027-03-14T01:00", True),
        ("2027-11-07T05:00", "2027-11-07T00:00", "2027-11-07T01:00", False),
    ),
    "a day": (
        "Pacific/Apia", "2011-12-01",
        ("2011-12-30T10:00", "2011-12-30T00:00", "2011-12-31T00:00", True),
        ("2012-03-31T14:00", "2012-04-01T03:00", "2012-04-01T04:00", False),
        ("2012-09-29T14:00", "2012-09-30T03:00", "2012-09-30T04:00", True),
    ),
    "a change to the second": (
        "Africa/Monrovia", "1972-01-01", ("1972-01-07T00:44:30", "1972-01-07T00:00", "1972-01-07T00:44:30", True),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("zone", "start", "expected"), [(*each[:2], each[2:]) for each in CHANGES.values()], ids=CHANGES
)
def test_changes(zone, start, expected):
    start = utc(start)
    found = [
        (change.at, change.start, change.end, change.is_gap)
        for change in clock_changes(ZoneInfo(zone), start, start + LOOK_AHEAD)
    ]
    assert found == [
        (utc(at), datetime.fromisoformat(begin), datetime.fromisoformat(end), is_gap)
        for at, begin, end, is_gap in expected
    ]


@pytest.mark.parametrize("name", MORE_ZONES)
def test_changes_against_a_look_at_every_quarter_of_an_hour(name):
    zone, step = ZoneInfo(name), timedelta(minutes=15)
    moment, expected = utc("2027-01-01"), []
    while moment < utc("2028-01-01"):
        if moment.astimezone(zone).utcoffset() != (moment + step).astimezone(zone).utcoffset():
            expected.append(moment + step)
        moment += step
    assert [change.at for change in clock_changes(zone, utc("2027-01-01"), utc("2028-01-01"))] == expected


def test_the_ends_of_the_look():
    zone, at = ZoneInfo("Europe/Berlin"), utc("2027-03-28T01:00")
    almost = timedelta(microseconds=1)
    assert [change.at for change in clock_changes(zone, at - almost, at)] == [at]
    assert [change.at for change in clock_changes(zone, at - almost, at + almost)] == [at]
    assert list(clock_changes(zone, at, at + HOUR)) == []
    assert list(clock_changes(zone, at - HOUR, at - almost)) == []
    assert list(clock_changes(zone, at + HOUR, at - HOUR)) == []


def test_what_the_clocks_skip_is_shown_when_they_do():
    zone = ZoneInfo("Europe/Berlin")
    assert not exists(zone, datetime(2027, 3, 28, 2, 30))
    assert first_moment(zone, datetime(2027, 3, 28, 2, 30)) == utc("2027-03-28T01:00")
    assert exists(zone, datetime(2027, 10, 31, 2, 30))
    assert first_moment(zone, datetime(2027, 10, 31, 2, 30)) == utc("2027-10-31T00:30")


# What is said: expression, zone, sentences.
REMARKS = {
    "a fixed time": (
        "30 2 * * *", "Europe/Berlin",
        "On 2027-03-28 the clocks skip 02:30: it fires once at 03:00 instead.",
        "On 2027-10-31 02:30 comes twice: it fires at the first only.",
    ),
    "several fixed times": (
        "0,15,30 2 * * *", "Europe/Berlin",
        "On 2027-03-28 the clocks skip 02:00 to 02:30: it fires once at 03:00 instead.",
        "On 2027-10-31 02:00 to 02:30 come twice: it fires at the first only.",
    ),
    "every minute of an hour": (
        "* 2 * * *", "Europe/Berlin",
        "On 2027-03-28 there is no 02:00 to 02:59: it does not fire then.",
        "On 2027-10-31 02:00 to 02:59 come twice: it fires both times.",
    ),
    "every two hours": (
        "0 */2 * * *", "Europe/Berlin",
        "On 2027-03-28 there is no 02:00: it does not fire then.",
        "On 2027-10-31 02:00 comes twice: it fires both times.",
    ),
    "a gap up to midnight": (
        "30 23 * 3 *", "America/Nuuk",
        "On 2027-03-27 the clocks skip 23:30: it fires once at 2027-03-28 00:00 instead.",
    ),
    "only one of the changes": (
        "30 1 * * *", "America/New_York", "On 2027-11-07 01:30 comes twice: it fires at the first only.",
    ),
    "every hour": ("30 * * * *", "Europe/Berlin"),
    "every minute": ("* * * * *", "Europe/Berlin"),
    "every minute of all hours": ("*/5 0-23 * * *", "Europe/Berlin"),
    "UTC": ("30 2 * * *", "UTC"),
    "another hour": ("30 4 * * *", "Europe/Berlin"),
    "another weekday": ("30 2 * * 1-6", "Europe/Berlin"),
    "another month": ("30 2 * 5 *", "Europe/Berlin"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "zone", "sentences"), [(*each[:2], each[2:]) for each in REMARKS.values()], ids=REMARKS
)
def test_remarks(expression, zone, sentences):
    assert remarks(Cron.of(expression, zone), NOW) == list(sentences)
    assert remarks(Cron.of(expression, zone), NOW.astimezone(ZoneInfo("Asia/Tokyo"))) == list(sentences)


def test_at_the_end_of_the_calendar_nothing_is_said():
    assert remarks(Cron.of("30 2 * * *", "Europe/Berlin"), datetime.max.replace(tzinfo=UTC)) == []


def observed(cron, change) -> str | None:
    """What really happens at a change: the end of the sentence that tells it; None if nothing is to be told."""
    size = change.end - change.start
    by_utc = Cron.of(cron.expression, "UTC").after((change.start - SECOND).replace(tzinfo=UTC))
    named = list(takewhile(lambda at: at.replace(tzinfo=None) < change.end, by_utc))
    until = change.at + size - SECOND
    times = list(takewhile(until.__ge__, cron.after(change.at - size - SECOND)))
    if not named:
        return None
    if change.is_gap:
        return "instead." if change.at in times else "does not fire then."
    shown = Counter(at.astimezone(cron.zone).replace(tzinfo=None, fold=0) for at in times)
    assert [local.replace(tzinfo=UTC) for local in sorted(shown)] == named
    if set(shown.values()) == {2}:
        return "both times."
    assert {at.astimezone(cron.zone).fold for at in times} == {0}
    return "the first only."


def expressions(change) -> list[str]:
    """Some that meet the change, and some that do not."""
    first, last = change.start, change.end - timedelta(minutes=1)
    found = [
        f"{first.minute} {first.hour} * * *",
        f"{last.minute} {last.hour} * * *",
        f"{last.minute - 9},{last.minute} {last.hour} * * *",
        f"{last.minute - 9}-{last.minute} {last.hour} * * {last.isoweekday()}",
        f"{last.minute} {(last.hour + 5) % 24} * * *",
        f"{last.minute} {last.hour} * * {last.isoweekday() - 1}",
        f"{last.minute} */{max(last.hour, 2)} * * *",
    ]
    whole_hours = first.minute == change.end.minute == 0  # else the end of the gap may be named too
    return [*found, f"*/10 {last.hour} * * *", f"* {first.hour} * * *"] if whole_hours else found


@pytest.mark.parametrize("name", MORE_ZONES)
def test_the_remarks_are_what_happens(name):
    for change in clock_changes(ZoneInfo(name), NOW, NOW + LOOK_AHEAD):
        for expression in expressions(change):
            cron = Cron.of(expression, name)
            told = [text for text in remarks(cron, NOW) if text.startswith(f"On {change.start:%Y-%m-%d} ")]
            ending = observed(cron, change)
            assert len(told) == (ending is not None), expression
            assert all(text.endswith(ending) for text in told), expression
            if ending == "instead.":
                assert f"{change.end:%H:%M} instead." in told[0]
