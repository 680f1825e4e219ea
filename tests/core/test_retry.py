from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.core.retry import exponential, loss_backoff

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def test_it_doubles_up_to_the_cap():
    pauses = [exponential(count, first=SECOND, cap=MINUTE) for count in range(1, 10)]
    assert [pause.total_seconds() for pause in pauses] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_the_cap_holds_from_the_first_one_on():
    assert exponential(1, first=timedelta(hours=1), cap=MINUTE) == MINUTE


@given(st.integers(1, 40), st.integers(1, 10), st.integers(1, 10**6))
def test_it_never_shrinks_and_never_passes_the_cap(count, first, cap):
    pauses = [exponential(n, first=first * SECOND, cap=cap * SECOND) for n in (count, count + 1)]
    assert pauses[0] <= pauses[1] <= cap * SECOND
    assert pauses[1] in (2 * pauses[0], cap * SECOND)


@pytest.mark.parametrize("count", [45, 48, 64, 1000, 10**9])
@pytest.mark.parametrize("cap", [timedelta(microseconds=1), MINUTE, timedelta(days=365_000), timedelta.max])
def test_any_number_of_tries(count, cap):
    pause = exponential(count, first=SECOND, cap=cap)
    assert pause <= cap
    assert pause >= min(cap, timedelta(days=365_000))


@pytest.mark.parametrize(
    ("losses", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (1000, 60), (10**9, 60)]
)
def test_the_pause_after_a_loss(losses, seconds):
    assert loss_backoff(losses).total_seconds() == seconds
