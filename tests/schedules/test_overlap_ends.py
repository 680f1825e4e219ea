"""What lets the next run go that waits for the one before it, beside the end of that."""

import pytest

from jobs.lifecycle import enqueue_job
from jobs.lifecycle.schedules import delete_schedule
from jobs.models import Run, Schedule
from jobs.runtime.agenda import FORGOTTEN_SECONDS
from tests.runtime.support import orphan
from tests.schedules.support import a_job, counted, drive, every, look, loud, settle, slots, sql, states, step

pytestmark = pytest.mark.django_db(transaction=True)


class TestLostWorker:
    @pytest.mark.parametrize("how", ["skip", "queue", "replace"])
    def test_the_guard_is_released_when_the_run_has_ended(self, clock, by_hand, how):
        schedule, dispatcher = every(10, overlap=how, job=a_job(max_losses=1)), by_hand(threads=3)
        settle(dispatcher)
        clock.move(10)
        look()
        orphan(Run.objects.get(), worker_id=1_000_000)  # its worker is killed in the middle of it
        drive(clock, 50, dispatcher)
        assert states(schedule)[0] == "failed"
        assert "succeeded" in states(schedule)
        assert not Run.objects.filter(state__in=["blocked", "queued", "running"]).exists()

    def test_while_it_waits_to_be_repeated_it_is_in_the_way(self, clock, by_hand):
        schedule, dispatcher = every(2, overlap="skip"), by_hand(threads=3)
        settle(dispatcher)
        clock.move(2)
        look()
        orphan(Run.objects.get(), worker_id=1_000_000)
        clock.move(9)
        dispatcher.cycle()
        assert states(schedule)[0] == "scheduled"
        drive(clock, 60, dispatcher)
        assert states(schedule)[0] == "succeeded"
        found = Run.objects.filter(schedule_id=schedule.pk).order_by("slot").first()
        assert found.losses == 1
        assert not Run.objects.filter(started_at__lt=found.finished_at).exclude(pk=found.pk).exists()


class TestWithAUniqueKey:
    @pytest.mark.parametrize("how", ["skip", "queue", "replace", "allow"])
    def test_of_its_job_there_is_one_at_a_time_and_every_slot_is_counted(self, clock, first, how, caplog):
        schedule, dispatcher, works = first(how, job=a_job(unique_key="one"))
        step(clock, dispatcher, 35)
        cancelled = states(schedule).count("cancelled")
        assert len(slots(schedule)) + counted(schedule) == 4
        assert Run.objects.filter(state__in=["running", "queued", "scheduled"]).count() == 1
        dispatcher.executor.end(works)
        drive(clock, 30, dispatcher)
        assert len(slots(schedule)) + counted(schedule) == 7
        assert states(schedule).count("cancelled") == cancelled
        assert Schedule.objects.get().problem == ""
        assert loud(caplog) == []

    @pytest.mark.parametrize("how", ["queue", "replace"])
    def test_one_that_waited_holds_the_key_when_it_is_let_go(self, clock, first, how):
        schedule, dispatcher, works = first(how, job=a_job(unique_key="one"))
        step(clock, dispatcher, 15)
        dispatcher.executor.end(works)
        step(clock, dispatcher, 2)
        assert states(schedule) == ["succeeded", "running"]
        by_hand = enqueue_job(schedule.job)
        assert not by_hand.is_new
        assert by_hand.schedule_id == schedule.pk

    @pytest.mark.parametrize("how", ["skip", "queue", "replace"])
    def test_a_run_by_hand_that_holds_it_is_in_the_way(self, clock, by_hand, how, caplog):
        schedule, dispatcher = every(10, overlap=how, job=a_job(unique_key="one")), by_hand(threads=3)
        settle(dispatcher)
        enqueue_job(schedule.job)
        dispatcher.cycle()
        works = dispatcher.executor.begin()
        step(clock, dispatcher, 25)
        assert Run.objects.filter(state__in=["running", "queued", "scheduled"]).count() == 1
        assert len(slots(schedule)) + counted(schedule) == 2
        dispatcher.executor.end(works)
        drive(clock, 30, dispatcher)
        assert len(slots(schedule)) + counted(schedule) == 5
        assert "succeeded" in states(schedule)
        assert loud(caplog) == []


class TestDeleted:
    """What works goes on; what waits for it is cancelled, and a reason says why."""

    def test_by_its_verb(self, clock, first):
        schedule, dispatcher, _ = first("queue")
        step(clock, dispatcher, 25)
        delete_schedule(Schedule.objects.get())
        assert states(schedule) == ["running", "cancelled", "cancelled"]
        assert {"its schedule was deleted" in run.reason for run in Run.objects.filter(state="cancelled")} == {True}

    @pytest.mark.parametrize("way", ["sql", "job"])
    def test_by_a_way_that_tells_nobody(self, clock, first, way):
        schedule, dispatcher, works = first("queue")
        step(clock, dispatcher, 25)
        if way == "sql":
            sql("DELETE FROM jobs_schedule WHERE id = %s", schedule.pk)
        else:
            Schedule.objects.get().job.delete()
        drive(clock, FORGOTTEN_SECONDS + 11, dispatcher)  # in a transaction: there is one at each sign of life
        assert states(schedule) == ["running", "cancelled", "cancelled"]
        dispatcher.executor.end(works)
        settle(dispatcher)
        assert states(schedule) == ["succeeded", "cancelled", "cancelled"]
