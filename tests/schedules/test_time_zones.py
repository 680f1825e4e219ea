"""The site's own zone, and whether Django has time zones at all, changes no moment."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone as django_timezone

from jobs import testing
from jobs.core.misfire import MISSED_AFTER
from jobs.models import Run, Schedule
from tests.runtime.support import states
from tests.schedules.support import a_job, a_schedule, drive, every, live, settle, slots, utc

pytestmark = pytest.mark.django_db

BRUSSELS = ZoneInfo("Europe/Brussels")


@pytest.fixture(params=["America/New_York", "Asia/Shanghai", "UTC"])
def zone(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["USE_TZ", "naive"])
def site(request, zone, settings):
    settings.USE_TZ, settings.TIME_ZONE = request.param, zone
    return ZoneInfo(zone)


def moments(schedule: Schedule) -> list[datetime]:
    return list(Run.objects.filter(schedule_id=schedule.pk).order_by("slot").values_list("slot", flat=True))


@pytest.mark.parametrize("begin", ["2027-01-10T00:00:00", "2027-03-27T12:00:00", "2027-10-30T12:00:00"])
def test_one_run_a_day_at_nine_in_brussels(clock, site, begin):
    clock.move_to(utc(begin))
    schedule = a_schedule("0 9 * * *", time_zone="Europe/Brussels", overlap="allow")
    live(clock, utc(begin) + timedelta(hours=48), timedelta(minutes=30))
    found = moments(schedule)
    assert len(found) == 2
    assert [(each.astimezone(BRUSSELS).hour, each.tzinfo) for each in found] == [(9, UTC)] * 2
    for run in Run.objects.all():
        assert run.enqueued_at - run.slot <= MISSED_AFTER  # at its time, not hours apart
        assert run.state == "queued"


def test_a_naive_moment_is_taken_in_the_zone_of_the_site(clock, site, ok):
    local = datetime(2027, 5, 1, 9, 0)
    run = ok.using(run_after=local).enqueue()
    run.refresh_from_db()
    assert run.due_at == local.replace(tzinfo=site)
    assert run.due_at.tzinfo is UTC


def test_an_aware_moment_is_that_moment(clock, site, ok):
    moment = datetime(2027, 5, 1, 9, 0, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    run = ok.using(run_after=moment).enqueue()
    run.refresh_from_db()
    assert run.due_at == moment


@pytest.mark.django_db(transaction=True)
def test_a_delay_of_ten_seconds_is_ten_seconds(clock, site, ok, by_hand):
    dispatcher = by_hand()
    settle(dispatcher)
    run = ok.using(run_after=timedelta(seconds=10)).enqueue()
    drive(clock, 9, dispatcher)
    assert states([run]) == ["scheduled"]
    drive(clock, 1, dispatcher)
    assert states([run]) == ["succeeded"]


@pytest.mark.django_db(transaction=True)
def test_the_repeated_hour_changes_nothing(clock, settings, ok, by_hand):
    """New York, 2027-11-07: from 05:00 to 07:00 UTC the clocks of the site show an hour twice."""
    settings.USE_TZ, settings.TIME_ZONE = False, "America/New_York"
    clock.move_to(utc("2027-11-07T04:58:00"))
    quarterly = every(900, overlap="allow")
    daily = a_schedule("30 1 * * *", time_zone="America/New_York", overlap="allow")
    delayed = ok.using(run_after=timedelta(minutes=90)).enqueue()  # 01:28 for the second time
    late = ok.using(run_after=timedelta(minutes=30), start_deadline=timedelta(minutes=45)).enqueue()
    dispatchers = [by_hand(threads=2), by_hand(threads=2)]
    settle(*dispatchers)
    works = ok.enqueue()
    dispatchers[0].cycle()
    context = dispatchers[0].executor.begin()
    for _ in range(3 * 60):
        clock.move(60)
        for dispatcher in dispatchers:  # between the looks at signs of life nobody may die
            settle(dispatcher)
    dispatchers[0].executor.end(context)
    settle(*dispatchers)
    assert len(slots(quarterly)) == 12
    assert slots(daily) == ["11-07T05:30:00"]
    assert states([delayed, late, works]) == ["succeeded"] * 3
    delayed.refresh_from_db()
    assert delayed.started_at == utc("2027-11-07T06:28:00")
    assert Run.objects.filter(losses__gt=0).count() == 0
    gaps = sorted(Run.objects.filter(schedule_id=quarterly.pk).values_list("slot", flat=True))
    assert {later - earlier for earlier, later in pairwise(gaps)} == {timedelta(minutes=15)}


def test_columns_hold_utc_and_come_back_as_it(clock, site):
    moment = datetime(2027, 11, 7, 1, 30, tzinfo=ZoneInfo("America/New_York"), fold=1)
    schedule = Schedule.objects.create(job=a_job(), kind="once", anchor_at=moment, starts_at=moment)
    for stored in (Schedule.objects.get(), Schedule.objects.get(anchor_at=moment)):
        assert (stored.anchor_at, stored.anchor_at.tzinfo) == (utc("2027-11-07T06:30:00"), UTC)
        assert stored.rule_fingerprint == stored.planned_rule == schedule.planned_rule


def test_it_needs_no_active_zone(clock, site):
    """A request of the site may have activated any zone in this thread."""
    schedule = a_schedule("0 9 * * *", time_zone="Europe/Brussels")
    with django_timezone.override("Pacific/Kiritimati"):
        live(clock, utc("2027-01-02T00:00:00"), timedelta(hours=1))
    assert slots(schedule) == ["01-01T08:00:00"]


def test_a_drain_runs_what_is_due_in_any_zone(clock, site, ok):
    here = ok.using(run_after=clock.now().astimezone(site).replace(tzinfo=None)).enqueue()
    later = ok.using(run_after=(clock.now() + timedelta(seconds=1)).astimezone(site).replace(tzinfo=None)).enqueue()
    testing.drain()
    assert states([here, later]) == ["succeeded", "scheduled"]
