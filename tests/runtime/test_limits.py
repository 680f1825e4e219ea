"""How long an execution may take, on a clock that the test moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.core.states import Reason
from jobs.runtime.limits import Limits
from jobs.testing import FakeClock

seconds = st.none() | st.integers(1, 20)


def begun(timeout=None, progress_timeout=None) -> Limits:
    limits = Limits(timeout, progress_timeout)
    limits.begin()
    return limits


def test_nothing_runs_out_before_the_function_has_begun(clock):
    limits = Limits(5, 2)
    clock.move(100)
    assert (limits.passed, limits.remaining, limits.next_in) == (None, 5, float("inf"))


def test_without_limits(clock):
    limits = begun()
    clock.move(10**6)
    assert (bool(limits), limits.passed, limits.remaining, limits.next_in) == (False, None, None, float("inf"))


def test_the_time_is_over(clock):
    limits = begun(5)
    clock.move(4)
    assert (limits.passed, limits.remaining, limits.next_in) == (None, 1, 1)
    clock.move(3)
    assert (limits.passed.reason, limits.remaining, limits.next_in) == (Reason.TIMED_OUT, -2, float("inf"))
    assert limits.passed.sentence == "The run took longer than 5 seconds."


def test_no_progress_for_too_long(clock):
    limits = begun(None, 5)
    for _ in range(3):
        clock.move(4)
        limits.progressed()
    assert limits.passed is None
    clock.move(5)
    limits.progressed()  # too late
    assert limits.passed.reason == Reason.STUCK
    assert limits.passed.sentence == "The run told no progress for 5 seconds."


@pytest.mark.parametrize("nonsense", [0, -1, float("nan"), float("inf"), float("-inf")])
def test_what_somebody_has_written_into_the_row_is_no_limit(clock, nonsense):
    limits = begun(nonsense, nonsense)
    clock.move(10**6)
    assert (bool(limits), limits.passed, limits.remaining) == (False, None, None)


@given(seconds, seconds, st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=20))
def test_against_a_model(timeout, progress_timeout, steps):
    """Whichever limit comes first is the one that was passed, for good, and `next_in` says when that is."""
    with FakeClock() as clock:
        limits, at, told_at, passed = begun(timeout, progress_timeout), 0, 0, None
        for step, tells in steps:
            ends = [at_ for at_ in (timeout, progress_timeout and told_at + progress_timeout) if at_]
            if passed is None:
                assert limits.next_in == min((end - at for end in ends), default=float("inf"))
            at += step
            clock.move(step)
            if passed is None and any(end <= at for end in ends):
                is_timeout = timeout and timeout == min(ends)
                passed = Reason.TIMED_OUT if is_timeout else Reason.STUCK
            if tells:
                limits.progressed()
                told_at = at if passed is None else told_at
            assert (limits.passed and limits.passed.reason) == passed
