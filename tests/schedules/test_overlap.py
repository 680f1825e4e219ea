"""Slots that come while the run before them still works."""

from datetime import timedelta

import pytest

import jobs
from jobs.lifecycle import enqueue_job
from jobs.lifecycle.schedules import backfill
from jobs.models import Run, Schedule
from jobs.runtime.execute import execute
from tests.schedules.support import (
    a_job,
    drive,
    every,
    look,
    loud,
    runs,
    settle,
    skipped,
    slots,
    states,
    step,
)

pytestmark = pytest.mark.django_db(transaction=True)


def end_with(dispatcher, context) -> None:
    """Call the run's function as a thread does, and hand in its outcome."""
    dispatcher.executor.running.remove(context)
    dispatcher.executor._deliver(context, execute(context))


class TestSkip:
    def test_what_is_skipped_is_counted_in_one_row_for_each_run_that_was_in_the_way(self, clock, first):
        schedule, dispatcher, works = first("skip")
        step(clock, dispatcher, 35)
        assert states(schedule) == ["running", "skipped"]
        assert skipped(schedule) == [("overlap", 3)]
        dispatcher.executor.end(works)
        step(clock, dispatcher, 5)
        works = dispatcher.executor.begin()
        step(clock, dispatcher, 20)
        dispatcher.executor.end(works)
        step(clock, dispatcher, 10)
        assert skipped(schedule) == [("overlap", 3), ("overlap", 2)]
        assert slots(schedule) == ["01-01T00:00:10", "01-01T00:00:50", "01-01T00:01:20"]
        assert Schedule.objects.get().missed_count == 5
        told = Run.objects.filter(reason_code="overlap").earliest("pk")
        expected = "An earlier run was unfinished (3 times, from {} to {}).".format
        assert told.reason == expected("2027-01-01T00:00:20Z", "2027-01-01T00:00:40Z")

    def test_nothing_is_logged_for_it(self, clock, first, caplog):
        _, dispatcher, _ = first("skip")
        step(clock, dispatcher, 60)
        assert loud(caplog) == []

    def test_a_healthy_schedule_beside_it_loses_no_slot(self, clock, first):
        _, dispatcher, _ = first("skip")
        healthy = every(2)
        drive(clock, 30, dispatcher)
        assert len(slots(healthy)) == 15

    def test_a_run_that_is_only_delayed_is_in_the_way(self, clock, by_hand):
        schedule, dispatcher = every(10, overlap="skip", jitter_seconds=0.0), by_hand()
        settle(dispatcher)
        clock.move(10)
        look()
        Run.objects.update(state="scheduled", due_at=clock.now().replace(year=2028))  # as after a lost worker
        step(clock, dispatcher, 20)
        assert states(schedule) == ["scheduled", "skipped"]

    def test_runs_that_a_person_started_are_not(self, clock, first):
        schedule, dispatcher, works = first("skip")
        enqueue_job(schedule.job)
        dispatcher.executor.end(works)
        clock.move(1)
        while dispatcher.cycle():
            pass
        by_person = dispatcher.executor.begin()
        step(clock, dispatcher, 9)
        assert len(slots(schedule)) == 2
        dispatcher.executor.end(by_person)


class TestQueue:
    def test_they_run_one_after_the_other_in_the_order_of_their_slots(self, clock, first):
        schedule, dispatcher, works = first("queue")
        step(clock, dispatcher, 35)
        assert runs(schedule, "state", "reason_code") == [("running", "")] + [("blocked", "previous_unfinished")] * 3
        ended = [works.id]
        for _ in range(3):
            assert dispatcher.executor.waiting == []
            dispatcher.executor.end(works)
            step(clock, dispatcher, 1)
            step(clock, dispatcher, 1)
            works = dispatcher.executor.begin()
            ended.append(works.id)
        in_order = Run.objects.filter(schedule_id=schedule.pk).order_by("slot")
        assert ended == list(in_order.values_list("pk", flat=True))[:4]
        assert skipped(schedule) == []

    def test_they_wait_up_to_a_number_and_the_rest_is_skipped(self, clock, first, monkeypatch):
        monkeypatch.setattr("jobs.lifecycle.fire.MOST_AT_ONCE", 3)
        schedule, dispatcher, works = first("queue")
        step(clock, dispatcher, 60)
        assert sorted(states(schedule)) == ["blocked"] * 3 + ["running", "skipped"]
        assert skipped(schedule) == [("overlap", 3)]
        dispatcher.executor.end(works)
        step(clock, dispatcher, 2)
        dispatcher.executor.begin()
        step(clock, dispatcher, 10)
        assert sorted(states(schedule)) == ["blocked"] * 3 + ["running", "skipped", "succeeded"]

    def test_the_next_one_starts_within_a_second(self, clock, first):
        schedule, dispatcher, works = first("queue")
        step(clock, dispatcher, 12)
        clock.move(0.5)
        dispatcher.executor.end(works)
        while dispatcher.cycle():
            pass
        assert dispatcher.next_look_in() <= 1
        step(clock, dispatcher, 1)
        assert states(schedule) == ["succeeded", "running"]

    def test_disabled_it_still_lets_go_what_waits(self, clock, first):
        schedule, dispatcher, works = first("queue")
        step(clock, dispatcher, 25)
        Schedule.objects.update(is_enabled=False)
        dispatcher.executor.end(works)
        drive(clock, 15, dispatcher)
        assert states(schedule) == ["succeeded"] * 3


def test_with_allow_they_run_beside_each_other(clock, first):
    schedule, dispatcher, _ = first("allow")
    step(clock, dispatcher, 20)
    assert states(schedule) == ["running"] * 3
    assert skipped(schedule) == []


class TestReplace:
    def test_the_old_one_is_asked_and_the_new_one_waits_for_its_end(self, clock, first):
        schedule, dispatcher, works = first("replace")
        assert not works.cancel_requested
        step(clock, dispatcher, 12)
        assert works.cancel_requested
        assert Run.objects.get(pk=works.id).cancel_requested_at is not None
        assert runs(schedule, "state", "reason_code") == [("running", ""), ("blocked", "previous_unfinished")]
        step(clock, dispatcher, 10)
        assert states(schedule) == ["running", "cancelled", "blocked"]  # the newest one is wanted
        dispatcher.executor.end(works)
        step(clock, dispatcher, 2)
        assert states(schedule) == ["succeeded", "cancelled", "running"]
        assert dispatcher.executor.waiting[0].cancel_requested is False

    def test_one_that_has_not_started_is_cancelled(self, clock, by_hand):
        schedule, dispatcher = every(10, overlap="replace"), by_hand(threads=1)
        settle(dispatcher)
        for _ in range(2):
            clock.move(10)
            look()
        assert states(schedule) == ["cancelled", "queued"]
        reason = Run.objects.get(schedule_id=schedule.pk, state="cancelled").reason
        assert "slot" in reason

    @pytest.mark.parametrize(
        ("ending", "state", "reason"),
        [
            ("raise", "cancelled", "stopped_by_request"),
            ("return", "succeeded", ""),
            ("fail", "failed", "function_raised"),
        ],
    )
    def test_the_function_decides_how_it_ends(self, clock, task, first, ending, state, reason):
        @task
        def asked():
            assert jobs.current_run().cancel_requested
            if ending == "raise":
                raise jobs.Cancelled
            if ending == "fail":
                raise ValueError("no")

        schedule, dispatcher, works = first("replace", job=a_job(task=asked.name, arguments_json="{}"))
        step(clock, dispatcher, 12)
        end_with(dispatcher, works)
        step(clock, dispatcher, 3)
        assert runs(schedule, "state", "reason_code") == [(state, reason), ("running", "")]


def test_outside_of_a_run_nobody_has_asked():
    assert jobs.current_run().cancel_requested is False


@pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
def test_however_many_were_allowed_before_none_is_overlooked(clock, overlap):
    schedule = every(10, overlap="allow")
    for _ in range(40):
        clock.move(10)
        look()
    assert states(schedule) == ["queued"] * 40
    Schedule.objects.update(overlap=overlap)
    clock.move(10)
    look()
    expected = {"skip": ["queued"] * 40, "queue": ["queued"] * 40, "replace": ["queued"]}
    assert [state for state in states(schedule) if state == "queued"] == expected[overlap]


@pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
def test_slots_that_were_filled_in_are_in_nobodys_way(clock, overlap):
    schedule, begin = every(10, overlap=overlap), clock.now()
    clock.move(50)
    backfill(schedule, begin + timedelta(seconds=10), clock.now())
    clock.move(10)
    look()
    assert states(schedule) == ["queued"] * 6  # five that were filled in, and the first of its own
    assert set(Run.objects.values_list("cancel_requested_at", flat=True)) == {None}
    clock.move(10)
    look()
    own = Run.objects.filter(schedule_id=schedule.pk, slot__gte=begin + timedelta(seconds=60))
    assert own.filter(state="queued").count() == 1
    assert states(schedule)[:5] == ["queued"] * 5
