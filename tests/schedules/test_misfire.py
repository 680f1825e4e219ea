"""Slots that passed while nobody was there."""

from datetime import timedelta

import pytest

from jobs.models import Run
from tests.schedules.support import a_schedule, live, look, skipped, slots, utc

pytestmark = pytest.mark.django_db

STOP, START = utc("2027-01-02T12:00:00"), utc("2027-01-05T10:00:00")
RHYTHMS = {"minute": "* * * * *", "daily": "1 0 * * *", "weekly": "0 6 * * 1"}


def down(clock, **policy):
    """Three rhythms work until the stop, and then nobody until the start."""
    clock.move_to(STOP - timedelta(seconds=30))
    schedules = {name: a_schedule(rule, overlap="allow", **policy) for name, rule in RHYTHMS.items()}
    clock.move_to(STOP)
    look()
    Run.objects.all().delete()  # pruned: what is done stays done
    clock.move_to(START)
    look()
    return schedules


def test_by_default_one_run_for_all_of_them_and_then_the_rhythm(clock):
    schedules = down(clock)
    assert {name: slots(each) for name, each in schedules.items()} == {
        "minute": ["01-05T10:00:00"],
        "daily": ["01-05T00:01:00"],
        "weekly": ["01-04T06:00:00"],
    }
    assert skipped(schedules["minute"]) == [("missed", 4199)]
    assert skipped(schedules["daily"]) == [("missed", 2)]
    assert skipped(schedules["weekly"]) == []
    live(clock, utc("2027-01-05T10:01:10"), timedelta(seconds=10))
    assert slots(schedules["minute"])[1:] == ["01-05T10:01:00"]
    clock.move_to(utc("2027-01-06T00:01:00"))
    look()
    assert slots(schedules["daily"])[1:] == ["01-06T00:01:00"]


def test_skip_runs_none_of_them(clock):
    schedules = down(clock, misfire="skip")
    assert [slots(each) for each in schedules.values()] == [[], [], []]
    assert skipped(schedules["minute"]) == [("missed", 4200)]
    clock.move_to(utc("2027-01-05T10:01:00"))
    look()
    assert slots(schedules["minute"]) == ["01-05T10:01:00"]


def test_all_runs_the_oldest_up_to_a_number_and_counts_the_rest(clock):
    schedules = down(clock, misfire="all", misfire_limit=5)
    assert slots(schedules["minute"]) == [f"01-02T12:0{minute}:00" for minute in range(1, 6)]
    assert skipped(schedules["minute"]) == [("missed", 4195)]
    assert slots(schedules["daily"]) == ["01-03T00:01:00", "01-04T00:01:00", "01-05T00:01:00"]
    assert skipped(schedules["daily"]) == []
    dropped = Run.objects.get(reason_code="missed")
    assert dropped.reason == (
        "Nobody worked when its time came (4195 times, from 2027-01-02T12:06:00Z to 2027-01-05T10:00:00Z)."
    )
