"""A scheduler that works while the clocks of the schedule's zone change."""

from datetime import timedelta

import pytest

from jobs.core.misfire import Misfire
from jobs.lifecycle.database import connection
from jobs.runtime.agenda import Agenda
from tests.schedules.support import a_schedule, live, look, slots, utc

pytestmark = pytest.mark.django_db

EVERY_TEN_SECONDS = timedelta(seconds=10)


@pytest.fixture(params=[Misfire.ONCE.value, Misfire.SKIP.value, Misfire.ALL.value])
def misfire(request):
    return request.param


def test_a_time_that_is_skipped_fires_once_right_after_the_gap(clock, misfire):
    clock.move_to(utc("2027-03-28T00:59:50"))
    schedule = a_schedule("30 2 * * *", time_zone="Europe/Berlin", misfire=misfire, overlap="allow")
    live(clock, utc("2027-03-28T01:00:10"), EVERY_TEN_SECONDS)
    assert slots(schedule) == ["03-28T01:00:00"]
    live(clock, utc("2027-03-28T01:30:10"), EVERY_TEN_SECONDS)
    assert slots(schedule) == ["03-28T01:00:00"]
    assert f"{schedule.recurrence.next_after(clock.now()):%m-%dT%H:%MZ}" == "03-29T00:30Z"


def test_a_time_that_comes_twice_fires_at_the_first_also_after_a_restart(clock, misfire):
    clock.move_to(utc("2027-11-07T05:29:00"))
    schedule = a_schedule("30 1 * * *", time_zone="America/New_York", misfire=misfire, overlap="allow")
    live(clock, utc("2027-11-07T06:10:00"), EVERY_TEN_SECONDS)
    assert slots(schedule) == ["11-07T05:30:00"]
    agenda = Agenda()  # the process begins anew, and knows nothing
    agenda.look_for_edits(connection())
    assert not agenda.has_edits
    live(clock, utc("2027-11-07T07:00:00"), EVERY_TEN_SECONDS)
    assert slots(schedule) == ["11-07T05:30:00"]
    clock.move_to(utc("2027-11-08T06:30:00"))
    look()
    assert slots(schedule)[1:] == ["11-08T06:30:00"]


def test_every_hour_is_every_hour_that_there_is(clock):
    clock.move_to(utc("2027-10-30T23:30:00"))
    schedule = a_schedule("0 * * * *", time_zone="Europe/Berlin", overlap="allow")
    live(clock, utc("2027-10-31T03:30:00"), timedelta(minutes=1))
    assert slots(schedule) == ["10-31T00:00:00", "10-31T01:00:00", "10-31T02:00:00", "10-31T03:00:00"]
