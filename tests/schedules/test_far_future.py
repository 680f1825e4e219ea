"""What is due in thousands of years stands in nobody's way."""

import threading
from datetime import timedelta

import pytest

import jobs
from jobs.core.recurrence import LONGEST_SECONDS
from jobs.core.rule_error import RuleError
from jobs.lifecycle.schedules import save_schedule
from jobs.models import Run, Schedule
from tests.runtime.support import SETTINGS, states
from tests.schedules.support import a_job, drive, every, settle, slots, utc

pytestmark = pytest.mark.django_db(transaction=True)

END = utc("9999-12-31T23:59:59")
POLL = SETTINGS["POLL_SECONDS"]


def test_what_comes_later_and_is_due_earlier_starts_at_its_time(clock, by_hand, ok):
    dispatcher = by_hand(threads=1)
    settle(dispatcher)
    far = ok.using(priority=-100, run_after=END).enqueue()
    settle(dispatcher)
    soon = ok.using(run_after=timedelta(seconds=3)).enqueue()
    settle(dispatcher)
    drive(clock, 1, dispatcher)
    now = ok.using(priority=100).enqueue()
    settle(dispatcher)
    assert states([far, soon, now]) == ["scheduled", "scheduled", "succeeded"]
    drive(clock, 1.75, dispatcher, step=0.25)
    assert dispatcher.next_look_in() == pytest.approx(0.25)
    drive(clock, 0.25, dispatcher)
    assert states([far, soon, now]) == ["scheduled", "succeeded", "succeeded"]
    assert 0 < dispatcher.next_look_in() <= POLL <= threading.TIMEOUT_MAX


@pytest.mark.parametrize("moment", [END, END.replace(microsecond=999_999), utc("9999-12-31T00:00:00")])
def test_a_schedule_at_the_end_of_time_waits_for_it(clock, by_hand, moment):
    healthy = every(2)
    far = Schedule.objects.create(job=a_job(), kind="once", anchor_at=moment)
    assert (far.problem, far.next_slot_at) == ("", moment)
    dispatcher = by_hand()
    settle(dispatcher)
    drive(clock, 20, dispatcher)
    assert 0 <= dispatcher.next_look_in() <= POLL
    assert (len(slots(healthy)), slots(far)) == (10, [])
    far.refresh_from_db()
    assert (far.problem, far.next_slot_at) == ("", moment)


def test_alone_it_is_looked_at_no_less_often(clock, by_hand):
    Schedule.objects.create(job=a_job(), kind="once", anchor_at=END)
    dispatcher = by_hand()
    settle(dispatcher)
    assert dispatcher.next_look_in() == POLL
    near = every(2)  # by somebody in another process: nobody is woken
    drive(clock, 4, dispatcher)
    assert len(slots(near)) == 2


@pytest.mark.parametrize("seconds", [400 * 366 * 86_400, LONGEST_SECONDS + 1, 1e12, 1e300, float("inf"), float("nan")])
class TestAnIntervalThatIsTooLong:
    def test_is_refused_where_it_is_saved(self, clock, seconds):
        schedule = Schedule(job=a_job(), kind="interval", interval_seconds=seconds, anchor_at=clock.now())
        with pytest.raises(RuleError, match=r"ten years") as refusal:
            save_schedule(schedule)
        assert refusal.value.field == "interval_seconds"
        assert not Schedule.objects.exists()

    def test_is_refused_where_it_is_declared(self, seconds):
        if not seconds < 1e13:
            pytest.skip("no timedelta is so long")
        with pytest.raises(ValueError, match=r"ten years"):
            jobs.schedule(timedelta(seconds=seconds))


def test_the_longest_interval_is_taken(clock):
    schedule = every(LONGEST_SECONDS)
    assert schedule.next_slot_at == clock.now() + timedelta(seconds=LONGEST_SECONDS)


@pytest.mark.parametrize(
    "run_after",
    [timedelta(seconds=1e12), timedelta.max, timedelta.min],
)
def test_a_delay_beyond_the_calendar_is_refused_and_nothing_is_stored(ok, run_after):
    with pytest.raises(ValueError, match="run_after"):
        ok.using(run_after=run_after).enqueue()
    with pytest.raises(ValueError, match="run_after"):
        ok.using(run_after=run_after).enqueue_many([{}])
    with pytest.raises(TypeError, match="run_after"):
        ok.using(run_after=1e12)
    assert not Run.objects.exists()
