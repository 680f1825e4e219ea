"""P1: the most urgent ready run starts next; first come, first served inside one priority; also after a restart."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

import jobs
from jobs.conf import get_settings
from jobs.models import Run
from jobs.registry import registry
from jobs.runtime.dispatcher import Dispatcher
from jobs.runtime.executors.inline import InlineExecutor
from jobs.testing import FakeClock, drain
from tests.lifecycle.support import any_speed, rolled_back
from tests.tasks import lifecycle_note, lifecycle_notes

pytestmark = pytest.mark.django_db


def submit(number, priority, **using):
    """The parameters are dicts: they must never be compared with one another."""
    lifecycle_note.using(priority=priority, **using).enqueue({"number": number, "priority": priority})


def submit_all():
    """Thirty runs in one transaction with one timestamp, two that are due already, and the two ends of the scale."""
    with FakeClock() as clock:
        with transaction.atomic():
            for number in range(30):
                submit(number, (0, 10, -10)[number % 3])
                if number == 14:
                    submit("in the middle", 0)
        submit("late but due", 5, run_after=timedelta(hours=-1))
        submit("due", -5, run_after=timedelta(seconds=-1))
        submit("last", 100)
        submit("first", -100)
        clock.move(1)


EXPECTED = [
    "first",
    *range(2, 30, 3),
    "due",
    *range(0, 15, 3),
    "in the middle",
    *range(15, 30, 3),
    "late but due",
    *range(1, 30, 3),
    "last",
]


def numbers(notes):
    return [note["number"] for note in notes]


def work_until(count):
    """A process that executes this many runs, or a few more, and ends in good order."""
    executor = InlineExecutor()
    dispatcher = Dispatcher(executor, get_settings(), kind="test")
    dispatcher.enter()
    while executor.executed < count:
        assert dispatcher.cycle()
    dispatcher.request_stop(0)
    while not dispatcher.is_done:
        dispatcher.cycle()
    dispatcher.leave()


def test_in_one_go(notes):
    submit_all()
    assert drain() == len(EXPECTED) == 35
    assert numbers(notes) == EXPECTED


def test_with_a_restart_half_way(notes):
    submit_all()
    work_until(15)
    assert numbers(notes) == EXPECTED[: len(notes)]
    left = 35 - len(notes)
    assert 0 < left <= 20
    assert drain() == left
    assert numbers(notes) == EXPECTED


def test_with_many_restarts(notes):
    submit_all()
    while len(notes) < 35:
        work_until(1)
    assert numbers(notes) == EXPECTED
    assert Run.objects.filter(claim_no=1, state="succeeded").count() == 35


def test_more_urgent_work_that_comes_later_goes_first(notes):
    submit_all()
    work_until(1)
    done = len(notes)
    submit("very urgent", -99)
    drain()
    assert numbers(notes) == [*EXPECTED[:done], "very urgent", *EXPECTED[done:]]


def test_over_all_queues(notes):
    with FakeClock():
        for number in range(20):
            submit(number, (3, -3)[number % 2], queue=f"q{number * 7 % 5}")
    drain()
    assert numbers(notes) == [*range(1, 20, 2), *range(0, 20, 2)]


def test_of_thousands_that_are_due_at_once_the_most_urgent_starts_first(notes):
    """More than one transaction makes ready; those that are due longest are not those that are most urgent."""
    with FakeClock() as clock:
        for part in range(5):
            later = lifecycle_note.using(run_after=timedelta(seconds=part + 1), priority=9 - part)
            later.enqueue_many(
                [{"what": {"number": f"{part}.{number}", "priority": 9 - part}} for number in range(1000)]
            )
        submit("urgent", -3, run_after=timedelta(seconds=50))
        submit("less urgent", -2, run_after=timedelta(seconds=40))
        clock.move(100)
        work_until(3)
    assert numbers(notes)[:3] == ["urgent", "less urgent", "4.0"]


def parent(number):
    lifecycle_notes.append(number)
    lifecycle_note.using(priority=-50).enqueue(f"child of {number}")


def test_what_a_function_enqueues_takes_its_place(notes, monkeypatch):
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    jobs.register(name="tests.parent")(parent).enqueue_many([{"number": n} for n in range(6)])
    assert drain() == 12
    assert notes == [each for n in range(6) for each in (n, f"child of {n}")]


submissions = st.lists(
    st.tuples(
        st.sampled_from([-100, -1, 0, 1, 100]),  # priority
        st.sampled_from([0, 0, 0, 1, 30]),  # seconds since the one before
        st.sampled_from([None, None, -60, 0, 5, 40]),  # run_after in seconds
        st.sampled_from(["a", "b", "default"]),
    ),
    min_size=1,
    max_size=12,
)


@any_speed
@given(submissions)
def test_against_a_sorted_list(given_runs):
    """Drained each time the clock has moved: what has started is always the best of what was ready then."""
    with rolled_back(), FakeClock() as clock:
        lifecycle_notes.clear()
        waiting, expected, now = [], [], 0
        for number, (priority, pause, run_after, queue) in enumerate(given_runs):
            if pause:
                expected += start_ready(waiting, now)
                drain()
                clock.move(pause)
                now += pause
            using = {} if run_after is None else {"run_after": timedelta(seconds=run_after)}
            lifecycle_note.using(priority=priority, queue=queue, **using).enqueue(number)
            waiting.append((priority, now + max(0, run_after or 0), number))
        clock.move(100)
        expected += start_ready(waiting, now + 100)
        drain()
        assert lifecycle_notes == expected


def start_ready(waiting, now):
    ready = sorted(each for each in waiting if each[1] <= now)
    waiting[:] = [each for each in waiting if each[1] > now]
    return [number for _, _, number in ready]
