"""The order of the PriorityScheduler: lowest number first, first come first served inside one number."""

from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from math import inf, nan
from numbers import Real
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.core import PriorityScheduler
from jobs.core.heap import checked_priority
from tests.core.tools import PATIENCE, Gate

FINITE = {"allow_nan": False, "allow_infinity": False}
PRIORITIES = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([10**400, -(10**400), Fraction(10**400, 3), 2**53, 2**53 + 1, 2.0**53, 0.0, -0.0]),
    st.floats(**FINITE),
    st.fractions(),
    st.decimals(**FINITE),
)


@given(st.lists(PRIORITIES))
@settings(deadline=None)
def test_order_is_priority_then_arrival(priorities):
    scheduler, ran = PriorityScheduler(), []
    for number, priority in enumerate(priorities):
        scheduler.schedule(ran.append, priority, number)
    scheduler.start()
    assert scheduler.stop(drain=True, timeout=PATIENCE)
    assert ran == sorted(range(len(priorities)), key=priorities.__getitem__)  # sorted() is stable


class Model:
    """A PriorityScheduler beside a plain list of (priority, number), which is sorted where the other has a heap."""

    def __init__(self):
        self.scheduler, self.ran, self.futures = PriorityScheduler(), [], []
        self.waiting, self.expected = [], []
        self.budget = inf

    def task(self, number):
        self.ran.append(number)
        self.budget -= 1
        if not self.budget:
            assert self.scheduler.stop() is False

    def schedule(self, priority):
        number = len(self.futures)
        self.waiting.append((priority, number))
        self.futures.append(self.scheduler.schedule(self.task, priority, number))

    def cancel(self, number):
        if number < len(self.futures):
            assert self.futures[number].cancel() == (number not in self.expected)
            self.waiting = [entry for entry in self.waiting if entry[1] != number]

    def run(self, number):
        """The last task that may run stops the scheduler from inside."""
        self.budget = min(number, len(self.waiting))
        if self.budget:
            last = self.expect(self.budget)
            self.scheduler.start()
            self.futures[last].result(PATIENCE)
            assert self.scheduler.stop(timeout=PATIENCE)

    def work_while(self, changes):
        """Apply changes while the only thread is held by a task, then let it work off the rest."""
        gate = Gate()
        self.budget = inf
        self.scheduler.schedule(gate, -(10**9))
        self.scheduler.start()
        gate.wait_until_entered()
        self.apply(changes)
        self.expect(len(self.waiting))
        gate.open()
        assert self.scheduler.stop(drain=True, timeout=PATIENCE)

    def expect(self, number):
        self.waiting.sort()
        self.expected += [entry[1] for entry in self.waiting[:number]]
        del self.waiting[:number]
        return self.expected[-1] if self.expected else None

    def apply(self, steps):
        for name, argument in steps:
            getattr(self, name)(argument)
            assert self.scheduler.pending == len(self.waiting)


CHANGES = st.one_of(
    st.tuples(st.just("schedule"), st.integers(-3, 3) | st.floats(-3, 3)),
    st.tuples(st.just("cancel"), st.integers(0, 40)),
)
RUNS = st.one_of(
    st.tuples(st.just("run"), st.integers(1, 10)),
    st.tuples(st.just("work_while"), st.lists(CHANGES, max_size=15)),
)


@given(st.lists(CHANGES | RUNS, max_size=60))
@settings(deadline=None)
def test_any_sequence_of_steps_against_a_sorted_list(steps):
    model = Model()
    model.apply(steps)
    model.work_while([])
    assert model.ran == model.expected


def test_the_most_urgent_of_what_waits_goes_next(make, gate):
    scheduler, ran = make(), []
    scheduler.start()
    scheduler.schedule(gate, 5)
    gate.wait_until_entered()
    scheduler.schedule(ran.append, 3, "three")
    scheduler.schedule(ran.append, 1, "one")
    scheduler.schedule(ran.append, 2, "two")
    gate.open()
    assert scheduler.stop(drain=True, timeout=PATIENCE)
    assert ran == ["one", "two", "three"]


def test_a_million_tasks(make, no_gc):
    """The most urgent thousand of a million, a stop with the rest waiting, and the next thousand."""
    scheduler, ran, stopped = make(), [], Event()

    def task(key):
        ran.append(key)
        if len(ran) % 1000 == 0:
            scheduler.stop()
            stopped.set()

    keys = [(number * 7919 % 201 - 100, number) for number in range(1_000_000)]
    for key in keys:
        scheduler.schedule(task, key[0], key)
    for left in (999_000, 998_000):
        stopped.clear()
        scheduler.start()
        assert stopped.wait(PATIENCE)
        assert scheduler.stop(timeout=PATIENCE)
        assert scheduler.pending == left
    assert ran == sorted(keys)[:2000]
    scheduler._heap._entries.clear()  # else the next garbage collection takes longer than the test


def test_functions_and_arguments_are_never_compared(make):
    class Incomparable(dict):
        def __lt__(self, other):
            raise AssertionError("compared")

        __gt__ = __le__ = __ge__ = __eq__ = __lt__
        __hash__ = None

        def __call__(self, thing):
            return thing

    with make() as scheduler:
        futures = [scheduler.schedule(Incomparable(), 1, Incomparable()) for _ in range(100)]
    assert all(isinstance(future.result(), Incomparable) for future in futures)


# The two forms


def show(*args, **kwargs):
    return args, kwargs


def outcome(scheduler, *args, **kwargs):
    return scheduler.schedule(show, *args, **kwargs).result(PATIENCE)


def test_the_first_argument_is_the_priority(make):
    with make() as scheduler:
        assert outcome(scheduler, 5) == ((), {})
        assert outcome(scheduler, 5, 6, 7, key=8) == ((6, 7), {"key": 8})


def test_or_the_keyword_is_and_all_arguments_reach_the_function(make):
    with make() as scheduler:
        assert outcome(scheduler, priority=5) == ((), {})
        assert outcome(scheduler, 6, 7, priority=5, key=8) == ((6, 7), {"key": 8})


def test_the_keyword_orders_like_the_argument(make):
    scheduler, ran = make(), []
    scheduler.schedule(ran.append, "second", priority=2)
    scheduler.schedule(ran.append, 1, "first")
    scheduler.schedule(ran.append, "third", priority=2)
    with scheduler:
        pass
    assert ran == ["first", "second", "third"]


def test_without_either_the_error_names_both(make):
    with pytest.raises(TypeError, match=r"schedule\(func, 5, \.\.\.\).*schedule\(func, \.\.\., priority=5\)"):
        make().schedule(show, key=1)


# Which numbers


class Level(IntEnum):
    LOW = 10


class Odd(int):
    def __lt__(self, other):
        raise AssertionError("compared")

    __gt__ = __lt__


class Third(Real):
    """A number of a kind that the scheduler does not know."""

    def __float__(self):
        return 1 / 3

    def _refuse(self, *others):
        raise AssertionError("not needed")

    __trunc__ = __floor__ = __ceil__ = __round__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __lt__ = __le__ = __add__ = __radd__ = __neg__ = __pos__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __rtruediv__ = __pow__ = __rpow__ = __abs__ = __eq__ = _refuse
    __hash__ = None


def test_all_kinds_of_numbers_compare(make):
    rising = [-(10**400), 0.125, Fraction(1, 4), Third(), Decimal("0.5"), 2, Level.LOW, Odd(10**400)]
    scheduler, ran = make(), []
    for place in (7, 0, 3, 5, 2, 6, 4, 1):
        scheduler.schedule(ran.append, rising[place], place)
    with scheduler:
        pass
    assert ran == list(range(8))


@pytest.mark.parametrize(
    ("priority", "plain"),
    [
        (Level.LOW, int),
        (Odd(1), int),
        (Fraction(4, 2), Fraction),
        (Third(), float),
        (Decimal(1), Decimal),
        (1.0, float),
    ],
)
def test_the_heap_holds_four_kinds(priority, plain):
    assert type(checked_priority(priority)) is plain


@pytest.mark.parametrize("priority", [None, "1", b"1", True, False, 1j, [1], object()])
def test_what_is_no_number_is_refused(make, priority):
    scheduler = make()
    with pytest.raises(TypeError, match=f"must be a number .* got {type(priority).__name__}"):
        scheduler.schedule(show, priority)
    with pytest.raises(TypeError, match="must be a number"):
        scheduler.schedule(show, priority=priority)
    assert scheduler.pending == 0


@pytest.mark.parametrize("priority", [nan, inf, -inf, *map(Decimal, ("nan", "snan", "inf", "-inf"))])
def test_what_is_not_finite_is_refused(make, priority):
    scheduler = make()
    with pytest.raises(ValueError, match="must be finite"):
        scheduler.schedule(show, priority)
    assert scheduler.pending == 0


def test_an_error_does_not_show_what_may_be_an_argument(make):
    with pytest.raises(TypeError) as caught:
        make().schedule(print, "hunter2")
    assert "hunter2" not in str(caught.value)
