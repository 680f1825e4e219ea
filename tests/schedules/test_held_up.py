"""Somebody else's lock, or chain of runs, holds up a schedule: what goes on, and what follows."""

from datetime import timedelta

import pytest
from django.db import connection

from jobs.core import clock as clocks
from jobs.lifecycle.database import begin_session
from jobs.lifecycle.fire import LOCKED_LOOK
from jobs.models import Run, Schedule
from jobs.testing import drain
from tests.lifecycle.test_claim_races import open_transaction
from tests.schedules.support import a_job, a_schedule, drive, every, slots, utc
from tests.tasks import lifecycle_add

rows_have_locks = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one lock for all")


@rows_have_locks
@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_holds_its_unique_key_holds_up_this_schedule_alone(clock, by_hand, ok):
    """A view enqueues with the key of the job, and works on before it commits."""
    begin_session(connection)
    held, other = every(10, job=a_job(unique_key="k")), every(10, job=a_job())
    dispatcher = by_hand(threads=2)
    dispatcher.cycle()
    run = ok.enqueue()
    with open_transaction(lambda: lifecycle_add.using(unique_key="k").enqueue(1)):
        clock.move(10)
        drive(clock, 3, dispatcher)
        assert (slots(held), len(slots(other))) == ([], 1)
        assert Run.objects.get(pk=run.pk).state == "succeeded"
        assert Schedule.objects.get(pk=held.pk).problem == ""
    Run.objects.filter(unique_key="k").update(state="succeeded", unique_hash=None)
    drive(clock, LOCKED_LOOK.total_seconds(), dispatcher)
    assert slots(held)[0] == slots(other)[0]
    connection.close()  # with what was set for its session


@pytest.mark.django_db
def test_a_drain_follows_a_chain_of_runs_to_its_end(clock):
    schedule = a_schedule("* * * * *", misfire="all", misfire_limit=10)
    clock.move_to(clocks.now() + timedelta(minutes=10))
    assert drain() == 10
    assert set(Run.objects.values_list("state", flat=True)) == {"succeeded"}
    assert [f"{run.slot:%m-%dT%H:%M:%S}" for run in Run.objects.order_by("started_at", "pk")] == slots(schedule)


@pytest.mark.django_db
def test_a_drain_does_not_wait_for_what_works_elsewhere(clock):
    schedule = a_schedule("* * * * *", misfire="all", misfire_limit=3)
    clock.move_to(clocks.now() + timedelta(minutes=3))
    Run.objects.create(
        task="elsewhere", schedule_id=schedule.pk, slot=utc("2026-12-31T23:00:00"), state="running", queue="default",
        priority=0, effective_priority=0, ready_at=clocks.now(), order_key=0, enqueued_at=clocks.now(), worker_id=0,
    )  # fmt: skip
    Run.objects.filter(task="elsewhere").update(on_lost="requeue")
    assert drain(queues=["nothing"]) == 0
    assert Run.objects.filter(state="blocked").count() == 3


@pytest.mark.django_db(transaction=True)
def test_one_that_was_asked_to_end_is_not_repeated_when_its_worker_dies(clock, first, by_hand):
    schedule, dispatcher, _ = first("replace")
    clock.move(10)
    dispatcher.cycle()
    old = Run.objects.get(slot__isnull=False, state="running")
    assert old.cancel_requested_at is not None
    other = by_hand()
    for _ in range(8):  # the first one gives no sign of life any more
        clock.move(10)
        other.cycle()
    old.refresh_from_db()
    assert (old.state, old.reason_code, old.losses) == ("cancelled", "stopped_with_worker", 1)
    assert schedule.pk == old.schedule_id
