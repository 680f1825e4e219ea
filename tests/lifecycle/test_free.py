"""Taking the best ones that nobody else has locked."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.lifecycle.free import ROUNDS, take_free


def taken(limit, rows, locked):
    """What is taken of rows that are given best first, and how often they were read."""
    reads = []

    def best(count):
        reads.append(count)
        return rows[:count]

    return take_free(limit, best, lambda ids: [each for each in ids if each not in locked]), len(reads)


@given(st.integers(0, 8), st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_the_best_that_are_free(limit, rows, locked):
    free = [each for each in sorted(rows) if each not in locked]
    assert taken(limit, sorted(rows), locked)[0] == free[:limit]


def test_very_many_that_others_have_locked_are_not_all_tried_in_one_transaction():
    rows = list(range(10_000))
    assert taken(4, rows, set(rows)) == ([], ROUNDS)


def test_nothing_is_read_when_nothing_is_wanted():
    assert taken(0, [1, 2], set()) == ([], 0)
