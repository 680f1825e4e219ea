"""Making due runs ready."""

from datetime import timedelta

import pytest

from jobs.core.wake import wake
from jobs.lifecycle.database import connection
from jobs.lifecycle.promote import BATCH, promote
from jobs.lifecycle.upcoming import next_moment
from jobs.models import Run
from tests.lifecycle.support import row, stored, take
from tests.tasks import lifecycle_add

pytestmark = pytest.mark.django_db


def due(clock, seconds, **columns):
    return stored(state="scheduled", ready_in=seconds, due_at=clock.now() + timedelta(seconds=seconds), **columns)


def test_what_is_due_becomes_queued_and_nothing_else_changes(clock):
    runs = [due(clock, seconds) for seconds in (-5, 0, 0.000001, 5)]
    before = [row(run) for run in runs]
    assert promote(connection(), clock.now()) == 2
    assert [row(run) for run in runs] == [
        before[0] | {"state": "queued"},
        before[1] | {"state": "queued"},
        *before[2:],
    ]
    assert promote(connection(), clock.now()) == 0


@pytest.mark.parametrize("state", ["blocked", "queued", "running", "succeeded", "failed", "cancelled", "skipped"])
def test_only_scheduled_runs_are_promoted(clock, state):
    run = stored(state=state, due_at=clock.now())
    before = row(run)
    assert promote(connection(), clock.now()) == 0
    assert next_moment(connection()) is None
    assert row(run) == before


def test_a_run_that_waits_for_something_else_than_a_time(clock):
    run = stored(state="scheduled", due_at=None)
    assert promote(connection(), clock.now()) == 0
    assert next_moment(connection()) is None
    assert row(run)["state"] == "scheduled"


def test_the_longest_due_come_first_and_no_more_than_a_batch(clock):
    last = due(clock, -1)
    Run.objects.bulk_create(
        Run(task="t", state="scheduled", queue="q", priority=0, effective_priority=0, order_key=0,
            ready_at=clock.now(), enqueued_at=clock.now(), due_at=clock.now() - timedelta(seconds=60))
        for _ in range(BATCH)
    )  # fmt: skip
    assert promote(connection(), clock.now()) == BATCH
    assert row(last)["state"] == "scheduled"
    assert promote(connection(), clock.now()) == 1


def test_the_order_is_by_key_not_by_who_was_promoted_first(clock):
    urgent = due(clock, 10, priority=-5)
    early = due(clock, 0)
    promote(connection(), clock.now())
    clock.move(10)
    promote(connection(), clock.now())
    assert [run.id for run in take(2)] == [urgent.pk, early.pk]


def test_what_is_cancelled_between_look_and_write_stays_cancelled(clock):
    runs = [due(clock, -1), due(clock, -1)]

    def cancel_before_the_write(execute, sql, params, many, context):
        if "SET state = 'queued'" in sql:
            cancelled.append(runs[0].cancel())
        return execute(sql, params, many, context)

    cancelled = []
    with connection().execute_wrapper(cancel_before_the_write):
        promote(connection(), clock.now())
    assert cancelled == ["cancelled"]
    assert [row(run)["state"] for run in runs] == ["cancelled", "queued"]


def test_the_next_moment(clock):
    assert next_moment(connection()) is None
    for seconds in (60.25, 30, -10.000001):
        due(clock, seconds)
        assert next_moment(connection()) == clock.now() + timedelta(seconds=seconds)
        assert next_moment(connection()).utcoffset() == timedelta(0)
    promote(connection(), clock.now())
    assert next_moment(connection()) == clock.now() + timedelta(seconds=30)


def test_an_enqueue_with_a_time_wakes_the_dispatcher_too(wakes, django_capture_on_commit_callbacks):
    """So that it learns of the next due time."""
    with django_capture_on_commit_callbacks() as callbacks:
        lifecycle_add.using(run_after=timedelta(hours=1)).enqueue(1)
    assert wake in callbacks
