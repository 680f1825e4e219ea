"""When cron expressions fire."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from unittest.mock import patch

import pytest
from cronsim import CronSim
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from jobs.core.cron import Cron
from jobs.core.rule_error import RuleError
from tests.core.cron_tools import DAY, EXPRESSIONS, MINUTE, ZONES, moments, utc

SECOND = timedelta(seconds=1)

# Expression, zone, the moment from which on (UTC), fire times (UTC).
TIMES = {
    "the spring gap: right after it": (
        "30 2 * * *", "Europe/Berlin", "2027-03-26T23:00",
        "2027-03-27T01:30 2027-03-28T01:00 2027-03-29T00:30",
    ),
    "the days around a spring gap": (
        "0 6 * * *", "America/New_York", "2027-03-12T17:00",
        "2027-03-13T11:00 2027-03-14T10:00 2027-03-15T10:00",
    ),
    "the repeated hour: at the first": (
        "30 1 * * *", "America/New_York", "2027-11-06T04:00",
        "2027-11-06T05:30 2027-11-07T05:30 2027-11-08T06:30",
    ),
    "started between the two": ("30 1 * * *", "America/New_York", "2027-11-07T06:10", "2027-11-08T06:30"),
    "started after a change": ("0 8 * * 1", "Europe/Amsterdam", "2027-10-29T22:00", "2027-11-01T07:00"),
    "two skipped times": (
        "0,30 2,3 28,29 3 *", "Europe/Berlin", "2027-03-27T12:00",
        "2027-03-28T01:00 2027-03-28T01:30 2027-03-29T00:00 2027-03-29T00:30",
    ),
    "a wildcard fires in both hours": (
        "*/30 1 * * *", "America/New_York", "2027-11-07T04:00",
        "2027-11-07T05:00 2027-11-07T05:30 2027-11-07T06:00 2027-11-07T06:30 2027-11-08T06:00",
    ),
    "a wildcard has no skipped hour": (
        "*/30 2 * * *", "Europe/Berlin", "2027-03-27T12:00", "2027-03-29T00:00 2027-03-29T00:30",
    ),
    "half an hour is repeated": (
        "*/10 2 * * *", "Australia/Lord_Howe", "2027-04-03T14:00",
        "2027-04-03T15:30 2027-04-03T15:40 2027-04-03T15:50 2027-04-03T16:00 2027-04-03T16:10",
    ),
    "every two hours, and half an hour is repeated": (
        "0 */2 * * *", "Australia/Lord_Howe", "2027-04-03T12:00",
        "2027-04-03T13:00 2027-04-03T15:30 2027-04-03T17:30",
    ),
    "a wildcard at a skipped midnight": ("*/20 0 14 3 *", "America/Havana", "2027-03-01T00:00", "2028-03-14T04:00"),
    "a day that is skipped": (
        "0 12 * * *", "Pacific/Apia", "2011-12-29T12:00",
        "2011-12-29T22:00 2011-12-30T10:00 2011-12-30T22:00",
    ),
    "a day or a weekday": (
        "15 16 12 12 3", "UTC", "2026-12-01T00:00",
        "2026-12-02T16:15 2026-12-09T16:15 2026-12-12T16:15 2026-12-16T16:15 2026-12-23T16:15 2026-12-30T16:15",
    ),
    "a day that the month does not have, or a weekday": (
        "48 14 31 6 0", "UTC", "2027-05-20T00:00",
        "2027-06-06T14:48 2027-06-13T14:48 2027-06-20T14:48 2027-06-27T14:48",
    ),
    "a star before the weekday: both": ("0 0 13 * */5", "UTC", "2027-01-01T00:00", "2027-06-13T00:00 2027-08-13T00:00"),
    "7 is Sunday": ("0 0 * * 7", "UTC", "2026-11-29T12:00", "2026-12-06T00:00 2026-12-13T00:00"),
    "up to Sunday": (
        "0 0 * * 5-7", "UTC", "2026-11-29T12:00",
        "2026-12-04T00:00 2026-12-05T00:00 2026-12-06T00:00 2026-12-11T00:00",
    ),
    "every seventh minute of the hour": (
        "*/7 * * * *", "UTC", "2027-01-01T11:59",
        " ".join(f"2027-01-01T12:{minute:02}" for minute in range(0, 60, 7)) + " 2027-01-01T13:00",
    ),
    "months without a 31st": (
        "0 0 31 * *", "UTC", "2027-01-31T00:00", "2027-03-31T00:00 2027-05-31T00:00 2027-07-31T00:00",
    ),
    "the last day": ("0 0 L * *", "UTC", "2027-01-31T00:00", "2027-02-28T00:00 2027-03-31T00:00"),
    "the last weekday": ("0 0 LW * *", "UTC", "2027-01-01T00:00", "2027-01-29T00:00 2027-02-26T00:00"),
    "the last Friday": ("0 0 * * 5L", "UTC", "2027-01-01T00:00", "2027-01-29T00:00 2027-02-26T00:00"),
    "the second Monday": ("0 0 * * MON#2", "UTC", "2027-01-01T00:00", "2027-01-11T00:00 2027-02-08T00:00"),
    "a leap day": ("0 0 29 2 *", "UTC", "2096-02-28T00:00", "2096-02-29T00:00 2104-02-29T00:00"),
}  # fmt: skip


@pytest.mark.parametrize(("expression", "zone", "start", "times"), TIMES.values(), ids=TIMES)
def test_times(expression, zone, start, times):
    times = [utc(text) for text in times.split()]
    assert list(islice(Cron.of(expression, zone).after(utc(start)), len(times))) == times


@st.composite
def cases(draw):
    """An expression with its model, and a moment."""
    model, zone = draw(EXPRESSIONS), draw(st.sampled_from(ZONES))
    try:
        cron = Cron.of(model.text, zone)
    except RuleError as error:
        if "never fires" not in str(error):  # each can be read
            raise
        reject()
    return model, cron, draw(moments(zone))


def taken(cron, after, until):
    return list(takewhile(until.__ge__, cron.after(after)))


@given(cases(), st.timedeltas(SECOND, 2 * DAY))
@settings(deadline=None)
def test_every_minute_of_two_days(case, duration):
    model, cron, start = case
    expected = model.times(cron.zone, start, start + duration)
    assert taken(cron, start, start + duration) == expected
    assert cron.count(start, start + duration) == len(expected)
    last = cron.last_until(start + duration)
    assert last == expected[-1] if expected else last is None or last <= start
    assert cron.follows_elapsed_time == model.follows_elapsed_time


@given(cases())
@settings(deadline=None)
def test_the_next_ones_however_far(case):
    model, cron, start = case
    times = list(islice(cron.after(start), 5))
    assert times
    assert all(earlier < later for earlier, later in pairwise([start, *times]))
    for fires_at in times:
        assert fires_at.tzinfo is UTC
        assert model.times(cron.zone, fires_at - MINUTE, fires_at) == [fires_at]


@given(cases())
@settings(deadline=None)
def test_the_start_of_the_look_changes_nothing(case):
    _, cron, start = case
    times = list(islice(cron.after(start), 5))
    assert [fires_at for fires_at in taken(cron, start - 2 * DAY, times[-1]) if fires_at > start] == times
    assert cron.last_until(times[-1]) == times[-1]
    assert cron.last_until(times[-1] - timedelta(microseconds=1)) == times[-2]
    assert next(cron.after(times[0])) == times[1]


@given(cases(), st.integers(1, 400))
@settings(deadline=None, max_examples=40)
def test_counts_over_months(case, days):
    _, cron, start = case
    end = start + days * DAY
    times = list(islice(cron.after(start), 3000))
    end = min(end, times[-1])
    assert cron.count(start, end) == sum(fires_at <= end for fires_at in times)
    assert cron.count(end, start) == 0


def test_a_year_of_minutes_is_as_many_as_it_has():
    cron = Cron.of("* * * * *", "Europe/Berlin")
    assert cron.count(utc("2027-01-01"), utc("2028-01-01")) == 365 * 24 * 60


def test_times_of_day_are_as_many_in_a_year_with_changes():
    hourly = Cron.of("0 0-23 * * *", "Europe/Berlin")
    assert hourly.count(utc("2027-01-01"), utc("2028-01-01")) == 365 * 24 - 1  # 02:00 and 03:00 at once


@pytest.mark.parametrize("expression", ["* * * * *", "30 2 * * *", "0 */2 1 * *"])
@pytest.mark.parametrize("zone", ZONES)
def test_fifty_years_are_not_counted_one_by_one(expression, zone):
    cron, steps = Cron.of(expression, zone), 0

    def counted(simulation, advance=CronSim.__next__):
        nonlocal steps
        steps += 1
        return advance(simulation)

    with patch.object(CronSim, "__next__", counted):
        count = cron.count(utc("2027-01-01"), utc("2077-01-01"))
        assert steps < 20_000
        steps = 0
        assert cron.last_until(utc("2077-01-01")) is not None
        assert steps < 200
    assert count > 500


EDGES = [datetime.min, datetime(1, 1, 1, 12), datetime(1, 1, 6), datetime(9999, 12, 26), datetime.max]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression", ["* * * * *", "30 2 * * *", "0 0 29 2 *", "0 0 1 1 *", "59 23 31 12 *"])
@pytest.mark.parametrize("edge", EDGES)
def test_the_ends_of_the_calendar(expression, zone, edge):
    cron = Cron.of(expression, zone)
    for moment in (edge.replace(tzinfo=UTC), edge.replace(tzinfo=cron.zone)):
        times = list(islice(cron.after(moment), 3))
        assert all(earlier < later for earlier, later in pairwise([moment, *times]))
        last = cron.last_until(moment)
        if edge.year == 1:
            assert len(times) == 3
            assert last is None or last <= moment
            assert cron.count(moment, times[-1]) == 3
        else:
            assert moment - 2000 * DAY < last <= moment
            assert cron.count(last, moment) == 0
            assert cron.count(last - SECOND, moment) == 1


def test_the_calendar_has_a_first_and_a_last_time():
    cron = Cron.of("@daily", "Europe/Berlin")
    first = next(cron.after(datetime.min.replace(tzinfo=UTC)))
    last = cron.last_until(datetime.max.replace(tzinfo=UTC))
    assert (first.year, last.year) == (1, 9999)
    assert cron.last_until(first - SECOND) is None
    assert list(cron.after(last)) == []


WORDS = {
    "30 2 * * *": "At 02:30 every day (Europe/Berlin)",
    "0 0 22 * *": "At 00:00 on the 22nd day of every month (Europe/Berlin)",
    "0 0 11,31 * *": "At 00:00 on the 11th and the 31st day of month (Europe/Berlin)",
    "0 0 1 * 1": "At 00:00 on the first day of month or on Monday (Europe/Berlin)",
    "*/5 * * * *": "Every fifth minute of every hour (Europe/Berlin)",
}


@pytest.mark.parametrize(("expression", "words"), WORDS.items(), ids=WORDS)
def test_words(expression, words):
    assert Cron.of(expression, "Europe/Berlin").words == words


@given(cases())
@settings(deadline=None)
def test_there_are_words_for_all(case):
    _, cron, _ = case
    assert cron.words.endswith(f" ({cron.zone.key})")
