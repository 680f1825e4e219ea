"""Runs that would start too late are skipped, and never executed."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction

import jobs
from jobs import testing
from jobs.core.states import State
from jobs.lifecycle import enqueue_job, run_again
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.deadline import skip_late
from jobs.lifecycle.upcoming import next_moment
from jobs.models import Run
from tests.lifecycle.support import elsewhere, stored
from tests.runtime.support import orphan
from tests.schedules.support import a_job, a_schedule, drive, look, settle, utc

HOUR = timedelta(hours=1)
STOP, START = utc("2027-01-02T12:00:00"), utc("2027-01-05T10:00:00")


def reasons(runs) -> list[tuple[str, str]]:
    found = {run.pk: (run.state, run.reason_code) for run in Run.objects.all()}
    return [found[run.pk] for run in runs]


LATE = ("skipped", "deadline_passed")


@pytest.mark.django_db(transaction=True)
class TestAfterDowntime:
    def test_expired_runs_are_skipped_and_never_executed(self, clock, by_hand, ok):
        clock.move_to(STOP)
        expired = [ok.using(start_deadline=HOUR).enqueue() for _ in range(3)]
        waits = ok.using(start_deadline=HOUR, run_after=timedelta(days=1)).enqueue()
        blocked = stored(state=State.BLOCKED, task="runtime.ok", start_deadline_at=STOP + HOUR)
        free = ok.enqueue()
        clock.move_to(START)
        in_time = ok.using(start_deadline=HOUR).enqueue()
        dispatcher = by_hand(threads=9)
        dispatcher.cycle()
        assert reasons([*expired, waits, blocked]) == [LATE] * 5
        assert sorted(dispatcher.executor.waiting_ids) == [free.pk, in_time.pk]
        settle(dispatcher)
        assert reasons([free, in_time]) == [("succeeded", ""), ("succeeded", "")]
        assert reasons([*expired, waits, blocked]) == [LATE] * 5
        assert {run.finished_at for run in Run.objects.filter(state="skipped")} == {START}
        assert not Run.objects.filter(state="skipped").exclude(started_at=None).exists()

    def test_with_more_of_them_than_one_transaction_ends_none_starts(self, clock, by_hand, ok, monkeypatch):
        monkeypatch.setattr("jobs.lifecycle.deadline.BATCH", 4)
        ok.using(start_deadline=HOUR).enqueue_many([{}] * 11)
        clock.move(2 * 3600)
        dispatcher = by_hand(threads=3)
        settle(dispatcher)
        assert Run.objects.filter(state="skipped").count() == 11

    def test_a_dispatcher_that_waits_looks_at_the_deadline(self, clock, by_hand, ok):
        dispatcher = by_hand(threads=1)
        ok.enqueue()
        dispatcher.cycle()
        dispatcher.executor.begin()  # the only thread is busy
        late = ok.using(start_deadline=timedelta(seconds=0.25)).enqueue()
        dispatcher.cycle()
        clock.move(1.0)
        dispatcher.cycle()
        assert reasons([late]) == [LATE]

    def test_a_run_starts_at_its_deadline_and_not_after_it(self, clock, by_hand, ok):
        run = ok.using(start_deadline=HOUR).enqueue()
        clock.move(3600)
        settle(by_hand())
        assert reasons([run]) == [("succeeded", "")]

    def test_a_run_that_is_repeated_too_late_is_skipped(self, clock, by_hand, ok):
        run = ok.using(start_deadline=timedelta(seconds=1)).enqueue()
        orphan(run, worker_id=1_000_000)  # which has no row: it is dead
        drive(clock, 60, by_hand())
        assert reasons([run]) == [LATE]
        assert Run.objects.get(pk=run.pk).losses == 1

    def test_those_that_somebody_has_locked_stop_none_of_the_others(self, clock, ok):
        if connection().vendor == "sqlite":
            pytest.skip("one lock for all")
        held, other = (ok.using(start_deadline=HOUR).enqueue() for _ in range(2))
        clock.move(2 * 3600)

        def skip_elsewhere():
            with transaction.atomic(using=alias()):
                return skip_late(connection(), clock.now())

        with transaction.atomic(using=alias()):
            Run.objects.select_for_update().get(pk=held.pk)
            assert elsewhere(skip_elsewhere) == 1
        assert reasons([held, other]) == [("queued", ""), LATE]
        assert skip_elsewhere() == 1


@pytest.mark.django_db
class TestWhatFollows:
    def test_the_unique_key_is_free_again(self, clock, ok):
        late = ok.using(start_deadline=HOUR, unique_key="one").enqueue()
        clock.move(3601)
        assert ok.using(unique_key="one").enqueue().pk == late.pk  # nobody has looked yet
        assert skip_late(connection(), clock.now()) == 1
        again = ok.using(unique_key="one").enqueue()
        assert again.is_new
        assert again.pk != late.pk

    def test_a_drain_skips_it_and_its_row_says_why(self, clock, ok):
        late = ok.using(start_deadline=HOUR).enqueue()
        clock.move(3601)
        testing.drain()
        late.refresh_from_db()
        assert (late.state, late.is_finished) == ("skipped", True)
        assert late.reason == "It would have started too late."

    def test_run_again_has_as_much_time_as_the_first(self, clock, ok):
        late = ok.using(start_deadline=HOUR).enqueue()
        clock.move(3601)
        skip_late(connection(), clock.now())
        assert run_again(late).start_deadline_at == clock.now() + HOUR

    def test_it_is_what_is_due_next(self, clock, ok):
        ok.using(start_deadline=HOUR).enqueue()
        assert next_moment(connection()) == clock.now() + HOUR


@pytest.mark.django_db
class TestWhereItIsSaid:
    def test_it_counts_from_when_the_run_is_due(self, clock, ok):
        now = clock.now()
        assert ok.enqueue().start_deadline_at is None
        assert ok.using(start_deadline=HOUR).enqueue().start_deadline_at == now + HOUR
        delayed = ok.using(start_deadline=HOUR, run_after=timedelta(days=1)).enqueue()
        assert delayed.start_deadline_at == now + timedelta(days=1) + HOUR
        many = ok.using(start_deadline=HOUR).enqueue_many([{}] * 2)
        assert [run.start_deadline_at for run in many] == [now + HOUR] * 2

    def test_of_the_function_of_the_job_and_of_the_call(self, clock, task):
        @task(start_deadline=HOUR)
        def late(): ...

        now, name = clock.now(), late.name
        assert late.enqueue().start_deadline_at == now + HOUR
        assert late.using(start_deadline=2 * HOUR).enqueue().start_deadline_at == now + 2 * HOUR
        assert late.using(start_deadline=None).enqueue().start_deadline_at is None
        job = a_job(task=name, arguments_json="{}")
        assert enqueue_job(job).start_deadline_at == now + HOUR
        job.start_deadline_seconds = 90
        assert enqueue_job(job).start_deadline_at == now + timedelta(seconds=90)
        assert enqueue_job(job, options={"start_deadline": 3 * HOUR}).start_deadline_at == now + 3 * HOUR

    def test_of_the_job_of_a_schedule_it_counts_from_the_slot(self, clock):
        schedule = a_schedule(job=a_job(start_deadline_seconds=120.0), misfire="all")
        clock.move(300)
        look()
        look()
        skip_late(connection(), clock.now())
        runs = Run.objects.filter(schedule_id=schedule.pk).order_by("slot")
        assert [(run.slot.minute, run.reason_code == "deadline_passed") for run in runs] == [
            (1, True), (2, True), (3, False), (4, False), (5, False),
        ]  # fmt: skip

    @pytest.mark.parametrize("value", [0, 5, "1h", timedelta(0), timedelta(seconds=-1), timedelta(days=3661), True])
    def test_bad_values_are_refused_by_name(self, ok, value):
        with pytest.raises((TypeError, ValueError), match="start_deadline"):
            ok.using(start_deadline=value)
        with pytest.raises((TypeError, ValueError), match="start_deadline"):
            jobs.register(name="runtime.never", start_deadline=value)(lambda: None)
        with pytest.raises((TypeError, ValueError), match="start_deadline"):
            enqueue_job(a_job(), options={"start_deadline": value})

    @pytest.mark.parametrize("seconds", [-5, 1e12, 1e300, float("nan"), float("inf")])
    def test_bad_values_of_a_job_are_refused_by_name(self, clock, seconds):
        job = a_job()
        job.start_deadline_seconds = seconds
        with pytest.raises(ValidationError) as refusal:
            job.full_clean()
        assert set(refusal.value.message_dict) == {"start_deadline_seconds"}
        with pytest.raises(ValueError, match="start_deadline"):
            enqueue_job(job)
        assert not Run.objects.exists()

    def test_a_deadline_beyond_the_calendar_is_refused_by_name(self, ok):
        with pytest.raises(ValueError, match="start_deadline"):
            ok.using(start_deadline=HOUR, run_after=utc("9999-12-31T23:59:59")).enqueue()
        assert not Run.objects.exists()
