"""What only the FIFOScheduler promises; test_schedulers.py has the rest."""

from threading import current_thread

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.core import FIFOScheduler
from tests.core.tools import PATIENCE, Background

STEPS = st.lists(st.one_of(st.sampled_from(["schedule", "start", "stop"]), st.integers(0, 30)), max_size=60)


@given(STEPS)
@settings(deadline=None)
def test_any_sequence_of_steps_against_a_list(steps):
    """A number cancels the task of that number; it succeeds only if the list still has that task."""
    scheduler, ran, futures = FIFOScheduler(), [], []
    waiting, expected, works = [], [], False
    for step in steps:
        if step == "schedule":
            waiting.append(len(futures))
            futures.append(scheduler.schedule(ran.append, len(futures)))
        elif step == "start":
            scheduler.start()
            works = True
        elif step == "stop":
            assert scheduler.stop(timeout=PATIENCE)
            works = False
        elif step < len(futures):
            assert futures[step].cancel() == (step not in expected)
            waiting = [number for number in waiting if number != step]
        if works:  # let the worker catch up, so that the list knows what can be cancelled
            scheduler.schedule(int).result(PATIENCE)
            expected, waiting = expected + waiting, []
        assert ran == expected
    assert scheduler.stop(timeout=PATIENCE)


def test_stop_finishes_what_came_before_and_leaves_what_comes_after(make, gate):
    scheduler, ran = make(FIFOScheduler), []
    scheduler.start()
    scheduler.schedule(gate)
    scheduler.schedule(ran.append, "before")
    gate.wait_until_entered()
    assert scheduler.stop(timeout=0) is False
    later = scheduler.schedule(ran.append, "after")
    gate.open()
    scheduler.start()
    later.result(PATIENCE)
    assert ran == ["before", "after"]


def test_a_task_stops_before_what_it_schedules_afterwards(make):
    scheduler, ran = make(FIFOScheduler), []

    def stop_then_schedule():
        scheduler.stop()
        scheduler.schedule(ran.append, "later")
        return current_thread()

    future = scheduler.schedule(stop_then_schedule)
    scheduler.schedule(ran.append, "sooner")
    scheduler.start()
    future.result(PATIENCE).join(PATIENCE)
    assert ran == ["sooner"]
    with scheduler:
        pass
    assert ran == ["sooner", "later"]


def test_a_second_stop_too_finishes_what_came_before_it(make, gate):
    scheduler, ran = make(FIFOScheduler), []
    scheduler.start()
    scheduler.schedule(gate)
    gate.wait_until_entered()
    first = Background(scheduler.stop)
    scheduler.stop(timeout=0)
    scheduler.schedule(ran.append, "between the stops")
    assert scheduler.stop(timeout=0) is False
    gate.open()
    assert first.result() is True
    assert scheduler.stop(timeout=PATIENCE) is True
    assert ran == ["between the stops"]


def test_an_exception_that_leaves_the_with_block_finishes_everything_too(make):
    scheduler, ran = make(FIFOScheduler), []
    try:
        with scheduler:
            scheduler.schedule(ran.append, 1)
            raise LookupError
    except LookupError:
        assert ran == [1]


def test_the_name_of_the_thread(make):
    scheduler = make(FIFOScheduler, name="mail")
    scheduler.start()
    assert scheduler.schedule(current_thread).result(PATIENCE).name == "mail-1"
