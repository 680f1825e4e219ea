"""The pauses before a worker process is started again."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.runtime.restarts import HEALTHY_SECONDS, Place

NEVER = float("inf")
# Whole seconds: sums of others are not exact.
quick_lives = st.integers(0, int(HEALTHY_SECONDS) - 1)
healthy_lives = st.integers(int(HEALTHY_SECONDS), 10**6)


@given(st.integers(1, 50))
def test_quick_ends_are_followed_by_pauses_that_double_up_to_a_minute(times):
    place = Place(1)
    pauses = []
    for _ in range(times):
        place.started(0.0)
        pauses.append(place.ended(0.5))
    assert pauses == [1, 2, 4, 8, 16, 32, *[60] * 50][:times]


@given(st.lists(quick_lives, max_size=10), healthy_lives, st.lists(quick_lives, max_size=10))
def test_after_a_life_that_lasted_they_begin_anew(before, long, after):
    place, now, pauses = Place(1), 0, []
    for life in [*before, long, *after]:
        place.started(now)
        now += life
        pauses.append(place.ended(now))
        now += pauses[-1]
    doubled = [min(2.0**number, 60.0) for number in range(20)]
    assert pauses[: len(before)] == doubled[: len(before)]
    assert pauses[len(before) :] == doubled[: len(after) + 1]


def test_it_is_due_at_once_then_after_its_pause_and_never_while_a_process_is_there():
    place = Place(1)
    assert place.starts_in(-5.0) == 0
    place.started(100.0)
    assert place.starts_in(10_000.0) == NEVER
    place.ended(101.0)
    assert [place.starts_in(now) for now in (101.0, 101.75, 102.0, 500.0)] == [1.0, 0.25, 0.0, 0.0]


def test_a_closed_one_is_never_due_again():
    place = Place(1)
    place.started(0.0)
    place.ended(1.0)
    place.close()
    assert place.starts_in(1e9) == NEVER
