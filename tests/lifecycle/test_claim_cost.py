"""A claim reads a bounded number of rows and index entries, whatever else lies in the table."""

from datetime import timedelta

import pytest
from django.test.utils import CaptureQueriesContext

from jobs.core.order import STRICT_AGEING, order_key
from jobs.lifecycle import promote
from jobs.lifecycle.database import connection
from jobs.models import Run
from tests.lifecycle.support import clock, rolled_back, stored, take

pytestmark = pytest.mark.django_db
MANY = 1000
LIMIT = 4


@pytest.fixture(autouse=True)
def only_sqlite():
    if connection().vendor != "sqlite":
        pytest.skip("the plans and step counts of SQLite")


def plans(statements):
    with connection().cursor() as cursor:
        for statement in statements:
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}")
            yield statement, " / ".join(line[3] for line in cursor.fetchall())


def statements_of(func, **served):
    with CaptureQueriesContext(connection()) as captured:
        func(**served)
    return [query["sql"] for query in captured if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]


def steps_of(func, **given):
    """How many instructions SQLite's machine carries out for a call, which is then undone."""
    database, steps = connection().connection, []
    with rolled_back():
        database.set_progress_handler(lambda: steps.append(1), 1)
        try:
            func(**given)
        finally:
            database.set_progress_handler(None, 0)
    return len(steps)


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
        with connection().cursor() as cursor:
            cursor.execute("ANALYZE jobs_run")
    for statement, plan in plans(statements_of(take, limit=LIMIT, **served)):
        assert "SCAN" not in plan, statement
        if " IN (" in statement:  # the rows themselves, by id
            assert "INTEGER PRIMARY KEY" in plan, statement
        else:
            assert "COVERING INDEX jobs_run_claim" in plan, statement
            assert "TEMP B-TREE" not in plan, statement


BESIDE = {
    "deferred": {"state": "scheduled", "due_at": None},
    "blocked": {"state": "blocked"},
    "finished": {"state": "succeeded"},
    "running": {"state": "running", "worker_id": 99},
    "foreign": {"queue": "foreign"},
    "less urgent": {"priority": 100},
}


@pytest.mark.parametrize("beside", BESIDE)
def test_other_runs_cost_nothing(beside):
    fill(20, priority=0)
    alone = steps_of(take, limit=LIMIT, queues=["default"])
    fill(**BESIDE[beside])
    assert steps_of(take, limit=LIMIT, queues=["default"]) <= 1.2 * alone


@pytest.mark.parametrize("beside", [name for name in BESIDE if name != "foreign"])
def test_other_runs_cost_nothing_when_all_queues_are_served(beside):
    fill(20, priority=0)
    alone = steps_of(take, limit=LIMIT)
    fill(**BESIDE[beside])
    assert steps_of(take, limit=LIMIT) <= 1.2 * alone


def test_a_paused_queue_costs_no_more_than_a_page():
    fill(20, priority=0)
    alone = steps_of(take, limit=LIMIT)
    fill(10, queue="paused")
    small = steps_of(take, limit=LIMIT, paused=["paused"])
    fill(queue="paused")
    assert alone < steps_of(take, limit=LIMIT, paused=["paused"]) <= 1.2 * small


def test_one_queue_takes_three_statements():
    for n in range(30):
        stored(ready_in=n)
    assert len(statements_of(take, limit=20, queues=["default"])) == 3
    assert len(statements_of(take, limit=5)) == 4  # the second page finds no more queues
    assert len(statements_of(take, limit=50)) == 3
    assert len(statements_of(take, limit=50)) == 1


def test_many_queues_share_pages():
    for n in range(100):
        stored(queue=f"q{n:03}")
    assert len(statements_of(take, limit=50)) <= 2 + 3


def test_due_runs_are_found_by_index():
    fill(LIMIT, state="scheduled", due_at=clock.now())
    fill(500, state="scheduled", due_at=clock.now() + timedelta(hours=1))
    for func in (promote.next_due_at, lambda db: promote.promote(db, clock.now())):
        for statement, plan in plans(statements_of(lambda func=func: func(connection()))):
            assert "SCAN" not in plan, statement
            assert "TEMP B-TREE" not in plan, statement
            assert "jobs_run_due" in plan or "INTEGER PRIMARY KEY" in plan, statement


def test_runs_that_are_not_due_cost_a_promotion_nothing():
    def promote_now():
        promote.promote(connection(), clock.now())

    fill(LIMIT, state="scheduled", due_at=clock.now())
    alone = steps_of(promote_now)
    fill(state="scheduled", due_at=clock.now() + timedelta(hours=1))
    assert steps_of(promote_now) <= 1.2 * alone
