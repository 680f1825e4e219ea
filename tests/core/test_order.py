from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.core.order import (
    MAX_PRIORITY,
    MIN_PRIORITY,
    STRICT_AGEING,
    ageing_microseconds,
    check_priority,
    microseconds,
    moment,
    order_key,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)

priorities = st.integers(MIN_PRIORITY, MAX_PRIORITY)
moments = st.datetimes(EPOCH.replace(tzinfo=None), LAST.replace(tzinfo=None), timezones=st.just(UTC))
# Runs that are ready at the same time have waited for less than 142 years, which is what a level is worth.
of_one_age = st.datetimes(datetime(2026, 11, 29), datetime(2168, 1, 1), timezones=st.just(UTC))
runs = st.tuples(priorities, of_one_age)
ageings = st.floats(0.001, 4e9).map(ageing_microseconds)


def key(run, ageing=STRICT_AGEING):
    return order_key(*run, ageing)


@given(runs, runs)
def test_strict_order_is_priority_first_then_time(one, other):
    assert (key(one) < key(other)) == (one < other)
    assert (key(one) == key(other)) == (one == other)


@given(p=priorities, t0=moments, q=priorities, t=moments, ageing=ageings)
def test_nothing_enqueued_after_the_bound_passes(p, t0, q, t, ageing):
    bound = microseconds(t0) + (p - q) * ageing
    if microseconds(t) > bound:
        assert key((q, t), ageing) > key((p, t0), ageing)


@given(p=priorities, t0=moments, q=priorities, ageing=ageings)
def test_the_bound_is_exact_to_the_microsecond(p, t0, q, ageing):
    bound = microseconds(t0) + (p - q) * ageing
    if microseconds(EPOCH) < bound <= microseconds(LAST):
        assert key((q, moment(bound)), ageing) == key((p, t0), ageing)
        assert key((q, moment(bound - 1)), ageing) < key((p, t0), ageing)


def test_with_ten_minutes_of_ageing_a_level_is_worth_ten_minutes():
    ageing = ageing_microseconds(600)
    waits_since = EPOCH + timedelta(days=20_000)
    early, late = (waits_since + timedelta(minutes=50, seconds=s) for s in (-1, 1))
    assert key((0, early), ageing) < key((5, waits_since), ageing) < key((0, late), ageing)


@pytest.mark.parametrize("ageing_seconds", [None, 0.001, 600, 4e9])
@pytest.mark.parametrize("priority", [MIN_PRIORITY, MAX_PRIORITY])
@pytest.mark.parametrize("ready_at", [EPOCH, LAST])
def test_the_extremes_fit_a_bigint_with_room(ageing_seconds, priority, ready_at):
    assert abs(order_key(priority, ready_at, ageing_microseconds(ageing_seconds))) < 8e17 < 2**63


@pytest.mark.parametrize("priority", [MIN_PRIORITY, 0, MAX_PRIORITY])
def test_the_end_of_the_calendar_keeps_its_order(priority):
    before = LAST - timedelta(microseconds=1)
    assert key((priority, EPOCH)) < key((priority, before)) < key((priority, LAST))
    assert key((priority - 1, before)) < key((priority, before))


@given(moments)
def test_microseconds_and_moment_are_inverse(when):
    assert moment(microseconds(when)) == when
    assert moment(microseconds(when)).tzinfo is UTC


@given(moments, st.timedeltas(timedelta(hours=-14), timedelta(hours=14)))
def test_the_zone_of_a_moment_does_not_matter(when, offset):
    shifted = when.replace(year=2000).astimezone(timezone(offset))
    assert microseconds(shifted) == microseconds(when.replace(year=2000))


def test_a_microsecond_counts():
    assert microseconds(EPOCH + timedelta(microseconds=1)) == 1
    assert microseconds(LAST) == 253_402_300_799_999_999


def test_ageing_in_microseconds():
    assert ageing_microseconds(None) == STRICT_AGEING == 2**52
    assert ageing_microseconds(600) == 600_000_000
    assert ageing_microseconds(0.001) == 1_000


@pytest.mark.parametrize("priority", [-100, -1, 0, 100])
def test_priorities_in_range(priority):
    assert check_priority(priority) == priority


@pytest.mark.parametrize("priority", [-101, 101, 10**30])
def test_priorities_out_of_range(priority):
    with pytest.raises(ValueError, match=rf"between -100 \(most urgent\) and 100, got {priority}\."):
        check_priority(priority)


@pytest.mark.parametrize("priority", [True, 1.0, "1", None, float("nan"), [1]])
def test_no_whole_number_is_no_priority(priority):
    with pytest.raises(TypeError, match=f"whole number.*{type(priority).__name__}"):
        check_priority(priority)
