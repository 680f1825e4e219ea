"""A schedule whose job is disabled."""

from datetime import timedelta

import pytest

from jobs.lifecycle import JobDisabled, definitions
from jobs.lifecycle.schedules import backfill
from jobs.models import Run
from tests.schedules.support import a_job, a_schedule, end_runs, live, look, skipped, slots, utc

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
BEGIN = utc("2027-01-01T00:00:00")


def test_there_is_no_run_and_no_catching_up(clock):
    job = a_job()
    schedule = a_schedule(job=job, misfire="all", misfire_limit=1000)
    live(clock, BEGIN + MINUTE, MINUTE)
    end_runs(schedule)
    definitions.set_enabled(job, False)
    live(clock, BEGIN + 10 * MINUTE, MINUTE)
    assert (slots(schedule), skipped(schedule)) == (["01-01T00:01:00"], [])
    definitions.set_enabled(job, True)
    look()
    assert slots(schedule) == ["01-01T00:01:00"]
    live(clock, BEGIN + 11 * MINUTE, MINUTE)
    assert slots(schedule) == ["01-01T00:01:00", "01-01T00:11:00"]
    schedule.refresh_from_db()
    assert (schedule.problem, schedule.missed_count) == ("", 0)


def test_what_waits_for_the_run_before_it_is_let_go(clock):
    schedule = a_schedule(overlap="queue")
    live(clock, BEGIN + 2 * MINUTE, MINUTE)
    assert set(Run.objects.values_list("state", flat=True)) == {"queued", "blocked"}
    definitions.set_enabled(schedule.job, False)
    Run.objects.filter(state="queued").update(state="succeeded")
    live(clock, BEGIN + 3 * MINUTE, MINUTE)
    assert set(Run.objects.values_list("state", flat=True)) == {"succeeded", "queued"}
    assert len(slots(schedule)) == 2


def test_its_slots_are_not_filled_in(clock):
    schedule = a_schedule(job=a_job(is_enabled=False))
    clock.move(600)
    with pytest.raises(JobDisabled):
        backfill(schedule, BEGIN, clock.now())
    assert not Run.objects.exists()
