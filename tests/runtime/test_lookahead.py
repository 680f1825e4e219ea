"""Claims beyond the idle threads: only of cheap runs, never for long, and never at the price of the order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.runtime.lookahead import CHEAP_SECONDS, LONGEST_WAIT_SECONDS, MOST, LookAhead
from tests.runtime.support import PATIENCE, HandExecutor, states, wait_until

pytestmark = pytest.mark.django_db

durations = st.lists(st.floats(0, 0.1), max_size=100)


@given(durations)
def test_as_many_as_finished_when_they_were_cheap(seconds):
    look_ahead = LookAhead()
    look_ahead.learn(seconds, was_anything_released=False)
    is_cheap = bool(seconds) and sum(seconds) / len(seconds) < CHEAP_SECONDS
    assert look_ahead.allowed <= MOST
    assert look_ahead.allowed == (min(len(seconds), MOST) if is_cheap else 0)


@given(durations)
def test_none_after_a_claimed_run_had_to_wait(seconds):
    look_ahead = LookAhead()
    look_ahead.learn([0.0] * 10, was_anything_released=False)
    look_ahead.learn(seconds, was_anything_released=True)
    assert look_ahead.allowed == 0


def cycle_and_count(dispatcher) -> int:
    dispatcher.cycle()
    return len(dispatcher.executor.waiting)


def test_claims_grow_with_cheap_runs_and_shrink_at_the_first_slow_one(by_hand, ok, clock):
    ok.enqueue_many([{}] * 400)
    dispatcher = by_hand(threads=2)
    executor = dispatcher.executor
    assert cycle_and_count(dispatcher) == 2  # nothing is known yet: the idle threads only
    claimed = []
    for _ in range(7):
        while executor.waiting:
            executor.run_one()
        claimed.append(cycle_and_count(dispatcher))
    assert claimed == [2 + 2, 2 + 4, 2 + 6, 2 + 8, 2 + 10, 2 + 12, 2 + 14]
    executor.run_one(seconds=1.0)
    assert cycle_and_count(dispatcher) == 15  # what was claimed before; more than the threads, so nothing is added
    while executor.waiting:
        executor.run_one(seconds=1.0)
    assert cycle_and_count(dispatcher) == 2


def test_never_more_than_64_beyond_the_threads(by_hand, ok, clock):
    ok.enqueue_many([{}] * 400)
    dispatcher = by_hand(threads=30)
    for _ in range(3):  # 30, then 60, then 90 runs
        dispatcher.cycle()
        while dispatcher.executor.waiting:
            dispatcher.executor.run_one()
    assert cycle_and_count(dispatcher) == 30 + MOST


@pytest.fixture
def ahead(by_hand, ok, clock):
    """A dispatcher with one thread, at work on the first of three claimed runs; the other two wait in its heap."""
    runs = ok.enqueue_many([{}] * 5)
    dispatcher = by_hand(threads=1)
    executor = dispatcher.executor
    dispatcher.cycle()
    executor.run_one()
    dispatcher.cycle()
    executor.run_one()
    executor.run_one()
    dispatcher.cycle()
    executor.begin()
    assert executor.waiting_ids == [runs[4].pk]
    clock.move(0.001)
    runs += ok.enqueue_many([{}] * 3)
    return dispatcher, runs


def test_a_claimed_run_keeps_its_claim_for_20_ms(ahead, clock):
    dispatcher, runs = ahead
    clock.move(LONGEST_WAIT_SECONDS - 0.001)
    dispatcher.cycle()
    assert dispatcher.executor.waiting_ids == [runs[4].pk]


def test_after_20_ms_it_is_released_and_keeps_its_place(ahead, clock):
    dispatcher, runs = ahead
    runs[4].refresh_from_db()
    key, claim_no = runs[4].order_key, runs[4].claim_no
    assert dispatcher.next_look_in() <= LONGEST_WAIT_SECONDS  # it wakes up for this
    clock.move(LONGEST_WAIT_SECONDS + 0.001)
    dispatcher.cycle()
    runs[4].refresh_from_db()
    assert dispatcher.executor.waiting == []
    assert (runs[4].state, runs[4].worker_id, runs[4].started_at) == ("queued", None, None)
    assert (runs[4].order_key, runs[4].claim_no) == (key, claim_no)  # a claim number is never given out twice
    assert runs[4].attempt == 1  # it was not executed
    dispatcher.executor.end(dispatcher.executor.running[0], seconds=1.0)
    dispatcher.cycle()
    assert dispatcher.executor.waiting_ids == [runs[4].pk]  # before those that came after it


def test_the_urgent_newcomer_goes_before_the_released_one(ahead, ok, clock):
    dispatcher, runs = ahead
    urgent = ok.using(priority=-1).enqueue()
    clock.move(LONGEST_WAIT_SECONDS + 0.001)
    dispatcher.cycle()
    dispatcher.executor.end(dispatcher.executor.running[0], seconds=1.0)
    dispatcher.cycle()
    assert dispatcher.executor.waiting_ids == [urgent.pk]
    dispatcher.executor.run_one(seconds=1.0)
    dispatcher.cycle()
    assert dispatcher.executor.waiting_ids == [runs[4].pk]


def test_a_run_that_a_thread_has_begun_is_not_released(ahead, clock):
    dispatcher, runs = ahead
    first = dispatcher.executor.running[0]
    dispatcher.executor.begin()  # its thread got it at the last moment
    clock.move(LONGEST_WAIT_SECONDS + 0.001)
    dispatcher.cycle()
    dispatcher.executor.end(first)
    dispatcher.executor.end(dispatcher.executor.running[0])
    dispatcher.cycle()
    assert states(runs[:5]) == ["succeeded"] * 5


def test_no_look_ahead_right_after_a_release(by_hand, ok, clock):
    ok.enqueue_many([{}] * 30)
    dispatcher = by_hand(threads=1)
    executor = dispatcher.executor
    for _ in range(3):
        dispatcher.cycle()
        while executor.waiting:
            executor.run_one()
    assert cycle_and_count(dispatcher) == 4
    executor.run_one()  # as cheap as the others, but those behind it have waited for too long
    clock.move(LONGEST_WAIT_SECONDS + 0.001)
    assert cycle_and_count(dispatcher) == 1


@pytest.mark.django_db(transaction=True)
def test_an_urgent_run_waits_for_no_claimed_ones_behind_a_slow_function(start, task, gate):
    """The real thing: cheap runs teach the dispatcher to look ahead; then one of those it claimed turns out slow."""
    started = []

    @task
    def step(number: int):
        started.append(number)
        if number == 50:
            gate()

    runs = step.enqueue_many([{"number": number} for number in range(100)])
    start(threads=1)
    gate.wait_until_entered()
    urgent = step.using(priority=-1).enqueue(1000)
    behind = runs[51]

    def is_free():
        behind.refresh_from_db()
        return behind.state == "queued"

    wait_until(is_free)
    gate.open()
    runs[-1].wait(PATIENCE)
    urgent.wait(PATIENCE)
    assert started[50:53] == [50, 1000, 51]


def test_while_runs_are_taken_back_the_least_urgent_go_first(by_hand, ok, clock):
    """A thread that becomes idle in the middle of it must not get a run while a more urgent one is gone already."""
    began = []

    class Racing(HandExecutor):
        def take_back(self, context):
            taken = super().take_back(context)
            if taken and self.waiting and not began:
                began.append(self.begin())
            return taken

    runs = ok.enqueue_many([{}] * 6)
    dispatcher = by_hand(executor=Racing(1))
    executor = dispatcher.executor
    for number in (1, 2):
        dispatcher.cycle()
        for _ in range(number):
            executor.run_one()
    dispatcher.cycle()
    executor.begin()
    assert executor.waiting_ids == [run.pk for run in runs[4:6]]
    clock.move(LONGEST_WAIT_SECONDS + 0.001)
    dispatcher.cycle()
    assert [context.id for context in began] == [runs[4].pk]
