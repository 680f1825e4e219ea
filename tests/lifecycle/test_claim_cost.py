"""A claim reads a bounded number of rows and index entries, whatever else lies in the table."""

from datetime import timedelta

import pytest
from django.test.utils import CaptureQueriesContext

from jobs.core.order import STRICT_AGEING, order_key
from jobs.lifecycle import promote, upcoming
from jobs.lifecycle.best import best_waiting
from jobs.lifecycle.database import connection, short_transaction
from jobs.models import Run
from tests.database import PRIMARY_KEY, plan_of, refresh_statistics
from tests.lifecycle.reading import observed
from tests.lifecycle.support import clock, rolled_back, stored, take

pytestmark = pytest.mark.django_db
MANY = 1000
LIMIT = 4


@pytest.fixture
def steps_of():
    """How many instructions SQLite's machine carries out for a call, which is then undone."""
    if connection().vendor != "sqlite":
        pytest.skip("counts the instructions of SQLite's machine; test_claim_plans counts the rows of all databases")

    def steps_of(func) -> int:
        driver, steps = connection().connection, []
        with rolled_back():
            driver.set_progress_handler(lambda: steps.append(1), 1)
            try:
                func()
            finally:
                driver.set_progress_handler(None, 0)
        return len(steps)

    return steps_of


def statements_of(func, **served):
    with CaptureQueriesContext(connection()) as captured:
        func(**served)
    return [query["sql"] for query in captured if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]


def fill(count=MANY, *, priority=-100, **columns):
    now = clock.now()
    Run.objects.bulk_create(
        Run(
            **{
                "task": "t",
                "state": "queued",
                "queue": "default",
                "priority": priority,
                "effective_priority": priority,
                "ready_at": now,
                "enqueued_at": now,
                "order_key": order_key(priority, now, STRICT_AGEING) + n,
            }
            | columns
        )
        for n in range(count)
    )


@pytest.mark.parametrize("served", [{}, {"queues": ["default", "other"]}], ids=["all", "named"])
@pytest.mark.parametrize("is_analyzed", [False, True])
def test_indexes_serve_filter_and_order(served, is_analyzed):
    fill(500)
    fill(500, state="succeeded", finished_at=clock.now())
    fill(500, state="running")
    if is_analyzed:
        refresh_statistics()
    for statement in statements_of(take, limit=LIMIT, **served):
        plan = plan_of(statement)
        assert not plan.has_scan, plan.text
        assert not plan.has_sort, plan.text
        if "MIN(" not in statement:  # which MariaDB answers from the index while it still plans
            assert plan.indexes == {PRIMARY_KEY if " IN (" in statement else "jobs_run_claim"}, plan.text


BESIDE = {
    "deferred": {"state": "scheduled", "due_at": None},
    "blocked": {"state": "blocked"},
    "finished": {"state": "succeeded"},
    "running": {"state": "running", "worker_id": 99},
    "foreign": {"queue": "foreign"},
    "less urgent": {"priority": 100},
}


@pytest.mark.parametrize("beside", BESIDE)
def test_other_runs_cost_nothing(steps_of, beside):
    fill(20, priority=0)
    alone = steps_of(lambda: take(LIMIT, queues=["default"]))
    fill(**BESIDE[beside])
    assert steps_of(lambda: take(LIMIT, queues=["default"])) <= 1.2 * alone


@pytest.mark.parametrize("beside", [name for name in BESIDE if name != "foreign"])
def test_other_runs_cost_nothing_when_all_queues_are_served(steps_of, beside):
    fill(20, priority=0)
    alone = steps_of(lambda: take(LIMIT))
    fill(**BESIDE[beside])
    assert steps_of(lambda: take(LIMIT)) <= 1.2 * alone


def test_a_paused_queue_costs_no_more_than_a_page(steps_of):
    fill(20, priority=0)
    alone = steps_of(lambda: take(LIMIT))
    fill(10, queue="paused")
    small = steps_of(lambda: take(LIMIT, paused=["paused"]))
    fill(queue="paused")
    assert alone < steps_of(lambda: take(LIMIT, paused=["paused"])) <= 1.2 * small


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("before", "after"), [(1000, 1000), (1000, 20), (20, 1000), (50, 3)])
def test_the_queues_before_are_not_read_again(before, after):
    """Also without statistics about them."""
    fill(before)
    fill(after, queue="later")
    with short_transaction(), observed(connection()) as readings:
        best_waiting(connection(), LIMIT, None, ["default"])
    assert all(reading.rows <= 2 * LIMIT for reading in readings), readings


def test_one_queue_takes_two_or_three_statements():
    taking = 1 if connection().vendor == "postgresql" else 2  # which locks and updates at once
    for n in range(30):
        stored(ready_in=n)
    assert len(statements_of(take, limit=20, queues=["default"])) == 1 + taking
    assert len(statements_of(take, limit=5)) == 2 + taking  # the second page finds no more queues
    assert len(statements_of(take, limit=50)) == 1 + taking
    assert len(statements_of(take, limit=50)) == 1


def test_many_queues_share_pages():
    for n in range(100):
        stored(queue=f"q{n:03}")
    one_by_one = 2 * 51 if connection().vendor == "mysql" else 0  # the second half, there
    assert len(statements_of(take, limit=50)) <= 2 + 3 + one_by_one


def test_due_runs_are_found_by_index():
    fill(LIMIT, state="scheduled", due_at=clock.now())
    fill(500, state="scheduled", due_at=clock.now() + timedelta(hours=1))
    for statement in statements_of(lambda: promote.promote(connection(), clock.now())):
        plan = plan_of(statement)
        assert not plan.has_scan, plan.text
        assert not plan.has_sort, plan.text
        assert plan.indexes == {PRIMARY_KEY if " IN (" in statement else "jobs_run_due"}, plan.text


def test_the_next_moment_is_found_by_index():
    fill(500, state="scheduled", due_at=clock.now() + timedelta(hours=1))
    fill(500, start_deadline_at=clock.now() + timedelta(hours=1))
    (statement,) = statements_of(lambda: upcoming.next_moment(connection()))
    plan = plan_of(statement)
    assert {"jobs_run_due", "jobs_run_deadline"} <= plan.indexes, plan.text


def test_runs_that_are_not_due_cost_a_promotion_nothing(steps_of):
    def promote_now():
        promote.promote(connection(), clock.now())

    fill(LIMIT, state="scheduled", due_at=clock.now())
    alone = steps_of(promote_now)
    fill(state="scheduled", due_at=clock.now() + timedelta(hours=1))
    assert steps_of(promote_now) <= 1.2 * alone
