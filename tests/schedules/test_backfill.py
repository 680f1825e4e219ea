"""Slots that have passed are filled in, each once."""

from datetime import timedelta

import pytest
from django.db import transaction

import jobs
from jobs.core.rule_error import RuleError
from jobs.lifecycle import cancel, enqueue_job
from jobs.lifecycle.database import alias
from jobs.lifecycle.schedules import InTheFuture, TooManySlots, backfill, slots_between
from jobs.models import AuditEntry, Run, Schedule
from jobs.testing import drain
from tests.runtime.support import together
from tests.schedules.support import a_job, a_schedule, end_runs, every, live, look, loud, skipped, slots, sql, utc

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
BEGIN = utc("2027-01-01T00:00:00")
ALL = [f"01-01T00:{minute:02}:00" for minute in range(1, 11)]


@pytest.fixture
def minutely(clock):
    """It began ten minutes ago, and nobody has worked since: its ten slots are still to come, or to be filled in."""

    def minutely(**columns) -> Schedule:
        schedule = a_schedule(**columns)
        clock.move(600)
        return schedule

    return minutely


def fill(schedule, first: int = 1, last: int = 10, **how) -> list[str]:
    runs = backfill(schedule, BEGIN + first * MINUTE, BEGIN + last * MINUTE, **how)
    return [f"{run.scheduled_for:%m-%dT%H:%M:%S}" for run in runs]


class TestEachSlotOnce:
    def test_both_ends_are_included(self, minutely):
        schedule = minutely()
        assert fill(schedule, 3, 5) == ALL[2:5]
        assert slots(schedule) == ALL[2:5]

    def test_called_twice(self, minutely):
        schedule = minutely()
        assert fill(schedule, 1, 6) == ALL[:6]
        assert fill(schedule, 1, 6) == []
        assert fill(schedule, 4, 10) == ALL[6:]
        assert slots(schedule) == ALL

    def test_what_has_run_is_left_out(self, clock, minutely):
        schedule = a_schedule(overlap="allow")
        live(clock, BEGIN + 5 * MINUTE, MINUTE)
        clock.move(300)
        assert fill(schedule) == ALL[5:]
        assert slots(schedule) == ALL

    def test_what_was_missed_can_be_filled_in(self, clock, minutely):
        schedule = minutely()
        look()
        assert (slots(schedule), skipped(schedule)) == (ALL[9:], [("missed", 9)])
        assert fill(schedule) == ALL[:9]

    def test_what_was_skipped_can_be_filled_in(self, clock):
        """The run of the first slot was in the way of all the others."""
        schedule = a_schedule()
        live(clock, BEGIN + 10 * MINUTE, MINUTE)
        assert (slots(schedule), skipped(schedule)) == (ALL[:1], [("overlap", 9)])
        end_runs(schedule)
        assert fill(schedule) == ALL[1:]

    @pytest.mark.parametrize("overlap", ["skip", "queue", "allow", "replace"])
    @pytest.mark.parametrize("misfire", ["once", "skip", "all"])
    def test_what_was_filled_in_before_anybody_looked_is_not_run_again(self, clock, minutely, caplog, overlap, misfire):
        schedule = minutely(overlap=overlap, misfire=misfire)
        assert fill(schedule) == ALL
        look()
        assert slots(schedule) == ALL
        clock.move(60)
        look()
        schedule.refresh_from_db()
        assert schedule.problem == ""
        assert caplog.records == []

    @pytest.mark.django_db(transaction=True)
    def test_from_two_threads(self, minutely):
        schedule, filled = minutely(), []

        def fill_in():
            filled.extend(fill(Schedule.objects.get(pk=schedule.pk)))

        together([fill_in] * 3)
        assert sorted(filled) == ALL
        assert slots(schedule) == ALL

    @pytest.mark.django_db(transaction=True)
    def test_while_somebody_fires(self, clock, minutely, caplog):
        schedule, filled = minutely(overlap="allow", misfire="all", misfire_limit=1000), []
        together([lambda: filled.extend(fill(Schedule.objects.get(pk=schedule.pk))), look, look])
        look()
        assert slots(schedule) == ALL
        assert skipped(schedule) == []
        assert loud(caplog) == []

    def test_of_a_job_with_a_unique_key_each_is_run_too(self, minutely):
        schedule = minutely(job=a_job(unique_key="one"))
        assert fill(schedule) == ALL
        assert slots(schedule) == ALL


class TestTheRuns:
    def test_keep_the_order_of_their_slots(self, clock, minutely, task):
        seen = []

        @task
        def notes():
            seen.append(Run.objects.get(pk=jobs.current_run().id).scheduled_for)

        schedule = minutely(job=a_job(task=notes.name, arguments_json="{}"), is_enabled=False)
        fill(schedule, 6, 10)
        fill(schedule, 1, 5, priority=-5)
        drain()
        assert [moment.minute for moment in seen] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

    def test_are_ready_at_once_with_the_options_of_the_job(self, clock, minutely):
        job = a_job(priority=3, queue="side", on_lost="fail", start_deadline_seconds=60.0)
        schedule = minutely(job=job, arguments_json='{"a":7}', jitter_seconds=3600)
        fill(schedule, 1, 2)
        for run in Run.objects.all():
            assert (run.state, run.due_at, run.priority, run.queue, run.on_lost) == ("queued", None, 3, "side", "fail")
            assert run.start_deadline_at == clock.now() + MINUTE  # from now: the slots are long over
            assert (run.arguments, run.job_id, run.job_name) == ({"a": 7}, job.pk, job.name)
            assert run.slot == run.scheduled_for

    def test_have_the_priority_that_is_asked_for(self, minutely):
        schedule = minutely(job=a_job(priority=3))
        fill(schedule, 1, 2, priority=50)
        assert set(Run.objects.values_list("priority", "effective_priority")) == {(50, 50)}

    @pytest.mark.parametrize("priority", [101, -101, 1.5, "1", True])
    def test_a_priority_out_of_range_is_refused(self, minutely, priority):
        schedule = minutely()
        with pytest.raises((TypeError, ValueError), match="priority"):
            fill(schedule, priority=priority)
        assert not Run.objects.exists()

    def test_are_rolled_back_with_the_transaction_of_the_caller(self, minutely):
        schedule = minutely()
        with transaction.atomic(using=alias()):
            fill(schedule)
            transaction.set_rollback(True, using=alias())
        assert not Run.objects.exists()

    def test_are_told_in_one_audit_row(self, minutely, django_user_model):
        schedule, actor = minutely(), django_user_model.objects.create(username="ann")
        fill(schedule, 2, 4, actor=actor, note="a day was lost")
        entry = AuditEntry.objects.get()
        assert (entry.verb, entry.note) == ("backfill", "a day was lost")
        assert "3" in str(vars(entry))

    def test_one_that_was_cancelled_is_not_filled_in_again(self, minutely):
        schedule = minutely()
        fill(schedule, 1, 1)
        cancel(Run.objects.get())
        assert fill(schedule, 1, 1) == []


class TestRefused:
    def test_what_is_still_to_come(self, clock, minutely):
        schedule = minutely()
        with pytest.raises(InTheFuture, match="2027-01-01T00:11:00"):
            fill(schedule, 1, 11)
        assert fill(schedule, 1, 10) == ALL

    def test_more_than_one_call_may_fill_in(self, clock, minutely):
        schedule = minutely()
        clock.move(10_000 * 60)
        with pytest.raises(TooManySlots, match="at most 10,000"):
            fill(schedule, 1, 10_001)
        assert not Run.objects.exists()
        assert len(slots_between(schedule, BEGIN + MINUTE, BEGIN + 10_000 * MINUTE)) == 10_000

    def test_ten_thousand_at_once(self, clock):
        schedule = every(1)
        clock.move(10_000)
        assert len(backfill(schedule, BEGIN, clock.now() - timedelta(seconds=1))) == 10_000
        assert Run.objects.values("order_key").distinct().count() == 10_000

    def test_of_a_century_it_counts_without_walking(self, clock, minutely):
        schedule = minutely()
        clock.set_wall(utc("2127-01-01T00:00:00"))
        with pytest.raises(TooManySlots):
            backfill(schedule, BEGIN, clock.now())

    def test_a_rule_that_is_none(self, minutely):
        schedule = minutely()
        sql("UPDATE jobs_schedule SET expression = 'garbage' WHERE id = %s", schedule.pk)
        schedule.refresh_from_db()
        with pytest.raises(RuleError):
            fill(schedule)

    def test_an_end_before_the_start(self, minutely):
        schedule = minutely()
        with pytest.raises(ValueError, match="start"):
            fill(schedule, 5, 3)


class TestTheRhythm:
    def test_a_backfill_does_not_move_it(self, minutely):
        schedule = minutely()
        before = Schedule.objects.values().get()
        fill(schedule)
        assert Schedule.objects.values().get() == before

    def test_run_now_does_not_move_it(self, clock):
        schedule = every(60, overlap="allow")
        clock.move(30)
        before = Schedule.objects.values().get()
        run = enqueue_job(schedule.job)
        assert (run.schedule_id, run.slot, run.scheduled_for) == (None, None, None)
        assert Schedule.objects.values().get() == before
        live(clock, BEGIN + 3 * MINUTE, timedelta(seconds=30))
        assert slots(schedule) == ALL[:3]
