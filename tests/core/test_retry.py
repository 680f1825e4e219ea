from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.core.retry import LONGEST_PAUSE, Backoff, checked_pause, loss_backoff

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

durations = st.timedeltas(min_value=timedelta(microseconds=1), max_value=LONGEST_PAUSE)
factors = st.floats(1, 1000) | st.integers(1, 1000)
backoffs = st.builds(Backoff, durations, factors, durations | st.none(), st.floats(0, 1))
failures = st.integers(1, 5000) | st.sampled_from([1, 2, 45, 64, 1024, 10**9, 10**30])
chances = st.floats(0, 1)


def pauses(backoff, count) -> list[float]:
    return [backoff.pause(number).total_seconds() for number in range(1, count + 1)]


def test_it_doubles_up_to_the_cap():
    assert pauses(Backoff(SECOND, cap=MINUTE, jitter=0), 9) == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_one_that_does_not_grow():
    assert pauses(Backoff(SECOND, factor=1, cap=None, jitter=0), 3) == [1, 1, 1]


def test_without_words_it_is_ten_seconds_doubled_at_most_an_hour():
    assert Backoff() == Backoff(10 * SECOND, 2, HOUR, 0.1)


@pytest.mark.parametrize(("chance", "seconds"), [(0, 8), (0.5, 10), (1, 12)])
def test_jitter_makes_it_shorter_or_longer(chance, seconds):
    backoff = Backoff(10 * SECOND, jitter=0.2)
    assert backoff.pause(1, lambda: chance).total_seconds() == pytest.approx(seconds)


def test_what_failed_together_is_not_tried_together():
    assert len({Backoff(HOUR).pause(1) for _ in range(20)}) > 1


@given(backoffs, failures, chances)
@example(Backoff(SECOND, 2, HOUR, 0), 1024, 0)  # 2.0 ** 1024 is no float any more
@example(Backoff(SECOND, 5, None, 1), 40, 1)
@example(Backoff(timedelta(microseconds=1), 1000, None, 1), 10**30, 1)
def test_a_pause_keeps_to_its_bounds_after_any_number_of_failures(backoff, failures, chance):
    pause = backoff.pause(failures, lambda: chance)
    most = min((backoff.cap or LONGEST_PAUSE) * (1 + backoff.jitter), LONGEST_PAUSE)
    assert timedelta(0) <= pause <= most + timedelta(microseconds=1)
    assert datetime(2026, 1, 1, tzinfo=UTC) + pause


@given(backoffs, st.integers(1, 5000), chances)
def test_it_never_becomes_shorter(backoff, failures, chance):
    assert backoff.pause(failures, lambda: chance) <= backoff.pause(failures + 1, lambda: chance)


@given(backoffs)
def test_what_is_stored_is_read_back(backoff):
    assert Backoff.from_json(backoff.to_json()) == backoff


NONSENSE = [None, "abc", "", 0, -1, 10, 1.5, True, [], float("nan")]


NO_DURATIONS = [*NONSENSE, timedelta(0), -SECOND, LONGEST_PAUSE + SECOND]


@pytest.mark.parametrize(
    ("argument", "value"),
    [*(("first", value) for value in NO_DURATIONS), *(("cap", value) for value in NO_DURATIONS if value is not None)],
)
def test_a_bad_duration_is_named(argument, value):
    with pytest.raises((TypeError, ValueError), match=f"^{argument} must be "):
        Backoff(**{argument: value})


@pytest.mark.parametrize(
    "value", [None, "abc", 0, 0.5, -2, True, float("nan"), float("inf"), float("-inf"), 1001, SECOND]
)
def test_a_bad_factor_is_named(value):
    with pytest.raises((TypeError, ValueError), match=r"^factor must "):
        Backoff(factor=value)


@pytest.mark.parametrize("value", [None, "abc", -0.1, 1.1, True, float("nan")])
def test_a_bad_jitter_is_named(value):
    with pytest.raises((TypeError, ValueError), match=r"^jitter must "):
        Backoff(jitter=value)


def changed(**changes) -> dict:
    return Backoff().to_json() | changes


@pytest.mark.parametrize(
    "stored",
    [
        None, 5, "10", [], {}, {"first": 1}, changed(more=1), changed(cap="x"), changed(cap=1e300), changed(factor=0),
        changed(first=10**400), changed(cap=float("inf")), changed(factor="2"), changed(jitter=9),
        *(changed(first=value) for value in NONSENSE if value not in (10, 1.5)),
    ],
)  # fmt: skip
def test_what_somebody_else_has_written_is_refused(stored):
    with pytest.raises((TypeError, ValueError)):
        Backoff.from_json(stored)


@pytest.mark.parametrize(
    ("value", "pause"),
    [(0, timedelta(0)), (1.5, 1.5 * SECOND), (MINUTE, MINUTE), (10**30, LONGEST_PAUSE), (1e300, LONGEST_PAUSE),
     (float("inf"), LONGEST_PAUSE), (timedelta.max, LONGEST_PAUSE)],
)  # fmt: skip
def test_what_a_function_may_say_as_a_pause(value, pause):
    assert checked_pause("after", value) == pause


@pytest.mark.parametrize("value", [None, "5", True, -1, -0.5, -SECOND, float("nan"), [1], datetime.now(UTC)])
def test_what_is_no_pause_is_named(value):
    with pytest.raises((TypeError, ValueError), match=r"^after must be a timedelta or a number of seconds"):
        checked_pause("after", value)


@pytest.mark.parametrize(
    ("losses", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (1000, 60), (10**9, 60)]
)
def test_the_pause_after_a_loss(losses, seconds):
    assert loss_backoff(losses).total_seconds() == seconds
