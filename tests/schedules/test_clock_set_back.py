"""The wall clock is set back an hour and put right again: nothing stops, nothing comes twice."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.fire import fire
from jobs.lifecycle.planning import edited, replan
from jobs.models import Attempt, Run, Schedule, Worker
from jobs.templatetags.jobs_web import took
from jobs.testing import FakeClock, drain
from jobs.web.timeline import segments
from tests.lifecycle.support import any_speed, rolled_back
from tests.runtime.support import SETTINGS
from tests.schedules.support import drive, every, look, settle, slots, utc

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)
NOON = utc("2027-01-01T12:00:00")


@pytest.fixture
def dispatchers(clock, by_hand):
    clock.move_to(NOON)
    return [by_hand(threads=2) for _ in range(2)]


def begin_everything(dispatchers) -> list:
    """Each takes what it has room for; what starts goes on."""
    begun = []
    for dispatcher in dispatchers:
        dispatcher.cycle()
        while dispatcher.executor.waiting:
            begun.append(dispatcher.executor.begin())
    return begun


def assert_looks_soon(dispatchers) -> None:
    for dispatcher in dispatchers:
        assert 0 <= dispatcher.next_look_in() <= SETTINGS["POLL_SECONDS"]


def through_the_hour(clock, dispatchers, ok, *, starts_early: bool = False) -> tuple[Schedule, Run, Run]:
    """The case: a rhythm of ten seconds, a run that is due at 12:00:05, one at once at 11:00:04, a minute of that."""
    schedule = every(10, overlap="allow")
    due = ok.using(run_after=timedelta(seconds=5)).enqueue()
    drive(clock, 3, *dispatchers)
    clock.set_wall(clock.now() - HOUR)
    settle(*dispatchers)
    drive(clock, 1, *dispatchers)
    now = ok.enqueue()
    settle(*dispatchers)
    now.refresh_from_db()
    assert (now.state, now.started_at) == ("succeeded", NOON - HOUR + timedelta(seconds=4))
    for _ in range(60):
        drive(clock, 1, *dispatchers)
        assert_looks_soon(dispatchers)
    due.refresh_from_db()
    assert due.state == "scheduled"
    clock.set_wall(clock.now() + HOUR)
    settle(*dispatchers)
    return schedule, due, now


def assert_no_negative_duration(run) -> None:
    """As the pages show them."""
    attempts = list(Attempt.objects.filter(run_id=run.pk))
    assert (took(run) or timedelta(0)) >= timedelta(0)
    assert all(segment.width >= 0 for segment in segments(run, attempts))


def test_what_is_submitted_starts_and_what_is_due_runs_once(clock, dispatchers, ok):
    schedule, due, _ = through_the_hour(clock, dispatchers, ok)
    drive(clock, 36, *dispatchers)
    due.refresh_from_db()
    assert (due.state, due.claim_no) == ("succeeded", 1)
    fired = slots(schedule)
    assert fired == sorted(set(fired))
    # While it was away six slots came; they were not a minute late for it, and each is run.
    assert fired == [f"01-01T12:0{second // 60}:{second % 60:02}" for second in range(10, 101, 10)]
    assert not Run.objects.exclude(state="succeeded").exists()
    assert set(Run.objects.values_list("claim_no", flat=True)) == {1}


def test_a_run_that_works_meanwhile_is_not_taken_away(clock, dispatchers, ok):
    works = ok.enqueue()
    (context,) = begin_everything(dispatchers)
    owner = next(each for each in dispatchers if each.worker_id == context.run.worker_id)
    drive(clock, 3, *dispatchers)
    clock.set_wall(clock.now() - HOUR)
    drive(clock, 60, *dispatchers)
    works.refresh_from_db()
    assert (works.state, works.worker_id, works.losses) == ("running", owner.worker_id, 0)
    owner.executor.end(context, seconds=63.0)
    settle(*dispatchers)
    works.refresh_from_db()
    assert (works.state, works.claim_no) == ("succeeded", 1)
    assert set(Worker.objects.values_list("state", flat=True)) == {"alive"}


@pytest.mark.parametrize("raises", [False, True])
def test_a_run_during_which_it_happens_lasts_no_negative_time(clock, task, raises):
    @task
    def sets_the_clock_back():
        clock.move(30)
        clock.set_wall(clock.now() - HOUR)
        if raises:
            raise ValueError("no")

    run = sets_the_clock_back.enqueue()
    drain()
    run.refresh_from_db()
    assert run.state == ("failed" if raises else "succeeded")
    assert_no_negative_duration(run)


def test_a_run_that_is_lost_meanwhile_lasted_no_negative_time(clock, dispatchers, ok):
    run = ok.enqueue()
    (context,) = begin_everything(dispatchers)
    (other,) = (each for each in dispatchers if each.worker_id != context.run.worker_id)
    clock.set_wall(clock.now() - HOUR)
    drive(clock, 100, other)  # the one that works is silent
    run.refresh_from_db()
    assert run.losses == 1
    assert_no_negative_duration(run)


def test_nobody_is_declared_dead_by_either_step(clock, dispatchers, ok):
    drive(clock, 30, *dispatchers)
    for step in (-HOUR, HOUR, timedelta(days=400), timedelta(days=-400)):
        clock.set_wall(clock.now() + step)
        drive(clock, 100, *dispatchers)
        assert_looks_soon(dispatchers)
        assert set(Worker.objects.values_list("state", flat=True)) == {"alive"}


def test_an_edit_meanwhile_brings_no_slot_again(clock, dispatchers, ok):
    schedule = every(10, overlap="allow")
    drive(clock, 30, *dispatchers)
    clock.set_wall(clock.now() - HOUR)
    schedule.refresh_from_db()
    schedule.interval_seconds = 5
    schedule.save()
    drive(clock, 20, *dispatchers)
    Schedule.objects.update(interval_seconds=10)
    drive(clock, 40, *dispatchers)
    clock.set_wall(clock.now() + HOUR)
    drive(clock, 30, *dispatchers)
    fired = slots(schedule)
    assert fired == sorted(set(fired))
    assert fired[:3] == ["01-01T12:00:10", "01-01T12:00:20", "01-01T12:00:30"]
    assert fired[-1] == "01-01T12:02:00"


def test_a_clock_that_was_ahead_does_not_stop_a_schedule_for_as_long(clock):
    """Somebody sets the clock a year on, and back after a minute."""
    clock.move_to(NOON)
    schedule = every(10, overlap="allow")
    clock.move(30)
    look()
    clock.set_wall(clock.now() + timedelta(days=365))
    clock.move(30)
    look()
    clock.set_wall(clock.now() - timedelta(days=365))
    for _ in range(60):
        clock.move(1)
        look()
    schedule.refresh_from_db()
    assert schedule.problem or "01-01T12:01:30" in slots(schedule)


def test_a_slot_of_the_repeated_time_is_not_run_again_also_without_its_run(clock, dispatchers, ok):
    """The history may have been pruned in between."""
    schedule = every(10, overlap="allow")
    drive(clock, 60, *dispatchers)
    Run.objects.all().delete()
    clock.set_wall(clock.now() - timedelta(seconds=40))
    drive(clock, 60, *dispatchers)
    assert slots(schedule) == ["01-01T12:01:10", "01-01T12:01:20"]


@any_speed
@given(
    ahead=st.sampled_from([0, 1, 45, 600, 3600]),
    steps=st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([1, 10, 70, 700]), st.booleans()), max_size=20),
    misfire=st.sampled_from(["once", "skip", "all"]),
)
def test_two_hosts_whose_clocks_differ_run_no_slot_twice(ahead, steps, misfire):
    """Whoever looks, also when the history is pruned in between, and the rhythm is edited by SQL."""
    with rolled_back(), FakeClock() as clock:
        schedule, fired = every(10, overlap="allow", misfire=misfire), []
        for host, seconds, is_edited in steps:
            clock.move(seconds)
            if is_edited:
                Schedule.objects.update(planned_rule="")
            own = clock.now() + timedelta(seconds=host * ahead)
            with transaction.atomic(using=alias()):
                replan(connection(), edited(connection()), own)
                fire(connection(), own)
            runs = Run.objects.filter(schedule_id=schedule.pk, slot__isnull=False)
            fired += runs.order_by("slot").values_list("slot", flat=True)
            runs.delete()
        assert fired == sorted(set(fired))
        assert Schedule.objects.get().problem == ""
