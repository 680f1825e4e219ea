"""A claim gives exactly the best runs, whatever their queues: against a list that is sorted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.core.states import State
from jobs.lifecycle import claim as claims
from jobs.lifecycle.database import connection
from jobs.models import Run
from jobs.testing import FakeClock
from tests.lifecycle.support import any_speed, rolled_back, stored, take

pytestmark = pytest.mark.django_db

QUEUES = ["a", "ab", "b", "default", "z", "é"]
queue_names = st.sampled_from(QUEUES)
some_queues = st.lists(queue_names, unique=True)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "queue": queue_names,
            "priority": st.sampled_from([-100, -1, 0, 0, 0, 1, 100]),
            "ready_in": st.sampled_from([0, 0, 0, 0.000001, 1, 3600]),  # ties are frequent
            "state": st.sampled_from([State.QUEUED] * 4 + [State.SCHEDULED, State.BLOCKED, State.RUNNING]),
        }
    ),
    max_size=40,
)


def expected(runs, limit, queues, paused):
    """The model: all rows in a list, filtered, sorted, cut."""
    served = [run for run in runs if run.state == "queued" and run.queue not in paused]
    if queues is not None:
        served = [run for run in served if run.queue in queues]
    return [run.pk for run in sorted(served, key=lambda run: (run.order_key, run.pk))][:limit]


@any_speed
@given(rows, st.integers(1, 12), st.none() | some_queues, some_queues)
def test_exactly_the_best(given_rows, limit, queues, paused):
    with rolled_back(), FakeClock():
        runs = [stored(**each) for each in given_rows]
        best = expected(runs, limit, queues, paused)
        assert [pk for _, pk in claims.best_waiting(connection(), limit, queues, paused)] == best
        assert [run.id for run in take(limit, queues=queues, paused=paused)] == best
        after = {run.pk: run for run in Run.objects.all()}
        for run in runs:
            is_taken = run.pk in best
            assert after[run.pk].state == ("running" if is_taken else run.state)
            assert after[run.pk].claim_no == int(is_taken)
            assert after[run.pk].worker_id == (1 if is_taken else None)


@any_speed
@given(rows, st.lists(st.tuples(st.integers(1, 5), st.none() | some_queues), max_size=6))
def test_one_claim_after_the_other(given_rows, claimants):
    with rolled_back(), FakeClock():
        waiting = [stored(**each) for each in given_rows]
        for worker, (limit, queues) in enumerate(claimants, 1):
            taken = [run.id for run in take(limit, worker=worker, queues=queues)]
            assert taken == expected(waiting, limit, queues, ())
            waiting = [run for run in waiting if run.pk not in taken]


# How many queued runs each queue has: pages of `limit` rows end before, inside and at the end of a queue.
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    "sizes",
    [[1] * 9, [3, 3, 3], [0, 4, 0, 4], [7, 1, 7], [2, 5, 1, 3], [1, 1, 20], [20, 1, 1], [4], [3, 4], [4, 3], []],
    ids=str,
)
def test_a_page_may_end_anywhere(sizes, limit):
    runs = [
        stored(queue=f"q{queue}", ready_in=(number * 7 + queue * 3) % 11)
        for queue, size in enumerate(sizes)
        for number in range(size)
    ]
    for paused in ((), ["q0"], ["q1"], ["q0", "q2"], [f"q{queue}" for queue in range(9)]):
        found = claims.best_waiting(connection(), limit, None, paused)
        assert [pk for _, pk in found] == expected(runs, limit, None, paused)


def test_a_hundred_queues():
    runs = [stored(queue=f"q{n:03}", priority=(n * 37) % 100 - 50) for n in range(100)]
    for limit in (1, 4, 64, 1000):
        assert [pk for _, pk in claims.best_waiting(connection(), limit, None)] == expected(runs, limit, None, ())
