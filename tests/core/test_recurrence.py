"""Rules between a start and an end; intervals; single moments."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jobs.core.cron import Cron
from jobs.core.recurrence import LONGEST_SECONDS, Interval, Once, Recurrence, duration_words, recurrence
from jobs.core.rule_error import RuleError
from tests.core.cron_tools import utc

MICROSECOND, SECOND, DAY = timedelta(microseconds=1), timedelta(seconds=1), timedelta(days=1)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

SOME_DAYS = st.datetimes(datetime(2027, 1, 1), datetime(2027, 1, 5), timezones=st.just(UTC))
MOMENTS = SOME_DAYS | st.builds(lambda moment: moment.replace(microsecond=0, second=0), SOME_DAYS)
STEPS = st.integers(600, 200_000) | st.floats(600, 200_000)


# Intervals


def stepped(interval, after, until):
    """One by one from far before."""
    moment = interval.anchor
    while moment > after:
        moment -= interval.step
    found = []
    while (moment := moment + interval.step) <= until:
        if moment > after:
            found.append(moment)
    return found


@given(STEPS, MOMENTS, MOMENTS, st.timedeltas(timedelta(0), 4 * DAY))
def test_intervals_against_steps(seconds, anchor, after, duration):
    interval, until = Interval.of(seconds, anchor), after + duration
    expected = stepped(interval, after, until)
    assert list(takewhile(until.__ge__, interval.after(after))) == expected
    assert interval.count(after, until) == len(expected)
    before = stepped(interval, after - interval.step, until)
    assert interval.last_until(until) == before[-1]
    assert interval.count(until, after) == 0


@given(STEPS, MOMENTS)
def test_the_anchor_is_one_of_the_times(seconds, anchor):
    interval = Interval.of(seconds, anchor)
    assert interval.last_until(anchor) == anchor
    assert next(interval.after(anchor - MICROSECOND)) == anchor
    assert next(interval.after(anchor)) == anchor + interval.step


def test_intervals_follow_elapsed_time():
    interval = Interval.of(3600, datetime(2027, 10, 31, 0, 30, tzinfo=ZoneInfo("Europe/Berlin")))
    assert list(islice(interval.after(utc("2027-10-31T00:00")), 3)) == [
        utc("2027-10-31T00:30"), utc("2027-10-31T01:30"), utc("2027-10-31T02:30"),
    ]  # fmt: skip


def test_five_thousand_years_of_seconds_are_counted_at_once():
    interval = Interval.of(1, utc("2027-01-01"))
    assert interval.count(utc("2027-01-01"), utc("7027-01-01")) == 1_826_212 * 86_400
    assert interval.last_until(utc("7027-01-01")) == utc("7027-01-01")
    assert next(interval.after(utc("7027-01-01"))) == utc("7027-01-01T00:00:01")


@pytest.mark.parametrize("seconds", [1, 1.5, LONGEST_SECONDS])
@pytest.mark.parametrize("anchor", [FIRST, FIRST + DAY, utc("2027-01-01"), LAST - DAY, LAST])
def test_intervals_at_the_ends_of_the_calendar(seconds, anchor):
    interval = Interval.of(seconds, anchor)
    assert next(interval.after(FIRST)) > FIRST
    assert list(interval.after(LAST)) == []
    assert interval.last_until(LAST) > LAST - interval.step
    assert interval.last_until(FIRST) in (None, FIRST)
    assert interval.count(FIRST, LAST) == (LAST - anchor) // interval.step - (FIRST - anchor) // interval.step


@pytest.mark.parametrize(
    "seconds", [0, -5, 0.999, LONGEST_SECONDS + 1, float("nan"), float("inf"), -float("inf"), 10**400, True, None, "5"]
)
def test_what_is_no_interval(seconds):
    with pytest.raises(RuleError) as caught:
        Interval.of(seconds, utc("2027-01-01"))
    assert caught.value.field == "interval_seconds"
    assert str(caught.value).startswith("Expected an interval of 1 to 316,224,000 seconds (ten years), got ")
    assert repr(seconds)[:20] in str(caught.value)


# Single moments


@given(MOMENTS, MOMENTS, MOMENTS)
def test_a_single_moment(at, after, until):
    once = Once.of(at, "Europe/Berlin")
    assert list(once.after(after)) == [each for each in [at] if each > after]
    assert once.last_until(until) == max((each for each in [at] if each <= until), default=None)
    assert once.count(after, until) == len([each for each in [at] if after < each <= until])


def test_the_words_of_a_single_moment():
    assert Once.of(utc("2027-03-28T01:00"), "Europe/Berlin").words == "Once, at 2027-03-28 03:00:00 (Europe/Berlin)"
    assert Once.of(LAST, "Asia/Tokyo").words == "Once, at 9999-12-31 23:59:59 (UTC)"
    assert Once.of(FIRST, "America/Havana").words == "Once, at 0001-01-01 00:00:00 (UTC)"


@pytest.mark.parametrize(
    "make", [lambda at: Once.of(at, "UTC"), lambda at: Interval.of(60, at)], ids=["once", "interval"]
)
def test_a_moment_must_be_there(make):
    with pytest.raises(RuleError, match=r"Expected the moment .*, got none\.") as caught:
        make(None)
    assert caught.value.field == "anchor_at"
    outside = datetime.max.replace(tzinfo=timezone(-DAY / 2))
    with pytest.raises(RuleError, match=r"Expected the moment .*, got 9999-12-31 23:59:59") as caught:
        make(outside)
    assert caught.value.field == "anchor_at"


# Bounds

RULES = st.one_of(
    st.builds(Interval.of, STEPS, MOMENTS),
    st.builds(Once.of, MOMENTS, st.just("UTC")),
    st.builds(
        Cron.of,
        st.sampled_from(["*/17 * * * *", "30 */2 * * *", "15,45 3-9 * * *", "0 0 3 * *", "0 12 1 1 *"]),
        st.sampled_from(["UTC", "Asia/Kathmandu"]),
    ),
)
BOUNDS = st.none() | MOMENTS


def between(rule, starts_at, ends_at, after, until):
    """The unbounded list, filtered."""
    times = takewhile(until.__ge__, rule.after(after))
    return [at for at in times if (not starts_at or at >= starts_at) and (not ends_at or at <= ends_at)]


@given(RULES, BOUNDS, BOUNDS, MOMENTS, MOMENTS)
def test_bounds_against_a_filtered_list(rule, starts_at, ends_at, after, until):
    assume(after <= until)
    bounded = Recurrence(rule, starts_at, ends_at)
    expected = between(rule, starts_at, ends_at, after, until)
    found = list(takewhile(until.__ge__, bounded.after(after)))
    assert found == expected
    assert bounded.count(after, until) == len(expected)
    assert bounded.count(until, after) == 0
    if expected:
        assert bounded.next_after(after) == expected[0]
        assert bounded.last_until(until) == expected[-1]
        assert bounded.first(2, after)[: len(expected)] == expected[:2]
    else:
        last = bounded.last_until(until)
        assert last is None or last <= after
        following = bounded.next_after(after)
        assert following is None or following > until


@given(RULES, MOMENTS)
def test_both_bounds_are_included(rule, moment):
    fires_at = next(rule.after(moment), None)
    assume(fires_at)
    only = Recurrence(rule, fires_at, fires_at)
    assert only.first(3, moment - DAY) == [fires_at]
    assert only.last_until(fires_at + DAY) == fires_at
    assert only.last_until(fires_at - MICROSECOND) is None
    assert only.count(moment - DAY, moment + 400 * DAY) == 1
    assert only.next_after(fires_at) is None


@pytest.mark.parametrize(
    "rule",
    [Interval.of(60, FIRST), Once.of(LAST, "UTC"), Cron.of("@yearly", "Asia/Tokyo")],
    ids=lambda rule: rule.words,
)
def test_bounds_at_the_ends_of_the_calendar(rule):
    bounded = Recurrence(rule, FIRST, LAST)
    assert bounded.next_after(FIRST) == next(rule.after(FIRST))
    assert bounded.first(1, LAST) == []
    assert bounded.last_until(LAST) == rule.last_until(LAST)
    assert Recurrence(rule, LAST, None).count(FIRST, LAST) == (rule.last_until(LAST) == LAST)


# From the columns of a schedule

DAILY = {"kind": "cron", "expression": "@daily", "time_zone": "Europe/Berlin"}
MINUTELY = {"kind": "interval", "interval_seconds": 60, "anchor_at": utc("2027-01-01")}
WORDS = {
    "At 00:00 every day (Europe/Berlin)": DAILY,
    "Every minute": MINUTELY,
    "Once, at 2027-01-01 05:45:00 (Asia/Kathmandu)": {
        "kind": "once", "anchor_at": utc("2027-01-01"), "time_zone": "Asia/Kathmandu",
    },
}  # fmt: skip


@pytest.mark.parametrize(("words", "columns"), WORDS.items(), ids=WORDS)
def test_columns(words, columns):
    made = recurrence(**columns, starts_at=utc("2027-01-01"), ends_at=utc("2027-01-01"))
    assert made.words == words
    assert made.starts_at == made.ends_at == utc("2027-01-01")


# Columns, the one that is wrong, and what the error says.
WRONG = {
    "never": ({**DAILY, "expression": "0 0 31 2 *"}, "expression", "0 0 31 2 * never fires"),
    "garbage": ({**DAILY, "expression": "garbage"}, "expression", "got 'garbage'"),
    "no expression": ({"kind": "cron"}, "expression", "got ''"),
    "an unknown zone": ({**DAILY, "time_zone": "Asia/Hanoi"}, "time_zone", "got 'Asia/Hanoi'"),
    "no zone": ({**DAILY, "time_zone": ""}, "time_zone", "got ''"),
    "no zone for an interval": ({**MINUTELY, "time_zone": ""}, "time_zone", "got ''"),
    "an interval of 0": ({**MINUTELY, "interval_seconds": 0}, "interval_seconds", "got 0."),
    "an interval of -5": ({**MINUTELY, "interval_seconds": -5}, "interval_seconds", "got -5."),
    "no interval": ({**MINUTELY, "interval_seconds": None}, "interval_seconds", "got None."),
    "no anchor": ({**MINUTELY, "anchor_at": None}, "anchor_at", "got none."),
    "no moment": ({"kind": "once"}, "anchor_at", "got none."),
    "an unknown kind": ({"kind": "solar"}, "kind", "Expected cron, interval or once, got 'solar'."),
    "an end before the start": (
        {**DAILY, "starts_at": utc("2027-01-02"), "ends_at": utc("2027-01-01")},
        "ends_at", "not before the start, 2027-01-02 00:00:00+00:00, got 2027-01-01 00:00:00+00:00.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "field", "words"), WRONG.values(), ids=WRONG)
def test_wrong_columns(columns, field, words):
    with pytest.raises(RuleError) as caught:
        recurrence(**columns)
    assert caught.value.field == field
    assert words in str(caught.value)


DURATIONS = {
    1: "second", 1.5: "1.5 seconds", 1.000001: "1.000001 seconds", 59.999999: "59.999999 seconds", 60: "minute",
    90: "1 minute 30 seconds", 300: "5 minutes", 3600: "hour", 3600.5: "1 hour 0.5 seconds", 5400: "1 hour 30 minutes",
    86_400: "day", 172_800: "2 days", 90_061: "1 day 1 hour 1 minute 1 second",
}  # fmt: skip


@pytest.mark.parametrize(("seconds", "words"), DURATIONS.items())
def test_durations_in_words(seconds, words):
    assert duration_words(timedelta(seconds=seconds)) == words
    assert Interval.of(seconds, utc("2027-01-01")).words == f"Every {words}"
