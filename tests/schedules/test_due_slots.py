"""Which slots are run and which are dropped, compared with a model that looks at each of them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.core.misfire import MISSED_AFTER, DueSlots, Misfire, due_slots
from jobs.core.recurrence import Recurrence, recurrence
from tests.core.cron_tools import ZONES
from tests.lifecycle.support import any_speed
from tests.schedules.support import utc

BEGIN = utc("2027-03-27T00:00:00")
SPAN = 4 * 86_400  # seconds: around the spring change of the clocks in Europe

RULES = st.one_of(
    st.builds(
        dict,
        kind=st.just("cron"),
        expression=st.sampled_from(
            ["* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "59 23 * * *", "15 */5 28 * *"]
        ),
        time_zone=st.sampled_from(ZONES),
    ),
    st.builds(
        dict,
        kind=st.just("interval"),
        interval_seconds=st.sampled_from([7, 59.5, 60, 61, 3600, 50_000]),
        anchor_at=st.integers(-SPAN, SPAN).map(lambda seconds: BEGIN + timedelta(seconds=seconds)),
    ),
    st.builds(
        dict,
        kind=st.just("once"),
        anchor_at=st.integers(0, SPAN).map(lambda seconds: BEGIN + timedelta(seconds=seconds)),
    ),
)
MOMENTS = st.integers(0, SPAN * 1000).map(lambda thousandths: BEGIN + timedelta(milliseconds=thousandths))
# How late it is, in seconds: also around the time from which slots count as missed.
DELAYS = st.one_of(st.integers(0, 200), st.sampled_from([59, 60, 61]), st.integers(0, 86_400))
POLICIES = st.fixed_dictionaries(
    {
        "misfire": st.sampled_from(Misfire),
        "limit": st.sampled_from([1, 2, 5, 1000]),
        "lateness": st.none() | st.sampled_from([0, 1, 30, 60, 90, 7200]).map(lambda s: timedelta(seconds=s)),
    }
)


@st.composite
def recurrences(draw):
    bounds = sorted([draw(MOMENTS), draw(MOMENTS)])
    starts_at, ends_at = (bound if draw(st.booleans()) else None for bound in bounds)
    return recurrence(**draw(RULES), starts_at=starts_at, ends_at=ends_at)


@dataclass
class Expected:
    slots: list[datetime]
    dropped: list[datetime]


def each(rule: Recurrence, first: datetime, now: datetime) -> list[datetime]:
    """All slots from `first` to `now`, by the rule alone."""
    found = []
    for moment in rule.rule.after(first - timedelta(microseconds=1)):
        if moment > now:
            break
        is_inside = (rule.starts_at is None or moment >= rule.starts_at) and (
            rule.ends_at is None or moment <= rule.ends_at
        )
        found += [moment] * is_inside
    return found


def model(rule, first, now, *, misfire, limit, lateness) -> Expected:
    """The policy as it is documented."""
    come = each(rule, first, now)
    if not come:
        return Expected([], [])
    in_time = [slot for slot in come if lateness is None or now - slot <= lateness]
    if now - come[0] <= MISSED_AFTER:
        run = in_time
    elif misfire == Misfire.ALL:
        run = in_time[:limit]
    else:
        run = [slot for slot in come[-1:] if misfire == Misfire.ONCE and slot in in_time]
    return Expected(run, [slot for slot in come if slot not in run])


@settings(any_speed, max_examples=500)
@given(rule=recurrences(), first=MOMENTS, delay=DELAYS, policy=POLICIES)
def test_each_slot_is_run_or_dropped_by_the_policy(rule, first, delay, policy):
    now = first + timedelta(seconds=delay)
    found, expected = due_slots(rule, first, now, **policy), model(rule, first, now, **policy)
    assert found.slots == expected.slots
    assert found.dropped == len(expected.dropped)
    if expected.dropped:
        assert (found.dropped_from, found.dropped_until) == (expected.dropped[0], expected.dropped[-1])
    else:
        assert (found.dropped_from, found.dropped_until) == (None, None)


@settings(any_speed, max_examples=200)
@given(rule=recurrences(), first=MOMENTS, delays=st.lists(DELAYS, max_size=6), policy=POLICIES)
def test_no_slot_is_lost_or_seen_twice_from_look_to_look(rule, first, delays, policy):
    """As a dispatcher does: at each look from the slot that comes next, up to now."""
    begin = now = first
    upcoming, run, dropped = rule.next_after(now), [], 0
    for delay in delays:
        now += timedelta(seconds=delay)
        if upcoming is not None and upcoming <= now:
            found = due_slots(rule, upcoming, now, **policy)
            run += found.slots
            dropped += found.dropped
            upcoming = rule.next_after(now)
    assert run == sorted(set(run))
    assert len(run) + dropped == len([slot for slot in each(rule, begin, now) if slot > begin])


def test_what_has_not_come_yet_is_nothing():
    hourly = recurrence("cron", expression="0 * * * *")
    assert due_slots(hourly, BEGIN + timedelta(hours=1), BEGIN) == DueSlots([])
    over = recurrence("once", anchor_at=BEGIN)
    assert due_slots(over, BEGIN + timedelta(hours=1), BEGIN + timedelta(days=1)) == DueSlots([])


def test_a_slot_is_missed_after_a_minute_and_not_at_it():
    minutely = recurrence("cron", expression="* * * * *")
    at_the_limit = due_slots(minutely, BEGIN, BEGIN + MISSED_AFTER, misfire=Misfire.SKIP)
    assert (at_the_limit.slots, at_the_limit.is_misfire) == ([BEGIN, BEGIN + timedelta(minutes=1)], False)
    later = due_slots(minutely, BEGIN, BEGIN + MISSED_AFTER + timedelta(microseconds=1), misfire=Misfire.SKIP)
    assert (later.slots, later.dropped, later.is_misfire) == ([], 2, True)


def test_years_of_minutes_are_counted_and_not_walked_through():
    minutely = recurrence("cron", expression="* * * * *")
    found = due_slots(minutely, utc("2027-01-01T00:00:00"), utc("2127-01-01T00:00:00"))
    assert (found.slots, found.dropped) == ([utc("2127-01-01T00:00:00")], 52_594_560)
