"""Cancelling what waits, and what is answered when it is too late."""

import threading
from importlib import import_module

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobs.lifecycle import CancelAnswer, cancel
from jobs.lifecycle import rescue as rescues
from jobs.lifecycle.database import connection
from jobs.lifecycle.rescue import interrupt, rescue
from jobs.models import AuditEntry, Run
from jobs.testing import drain
from tests.lifecycle.support import (
    PATIENCE,
    Thread,
    clock,
    death,
    elsewhere,
    failure,
    fresh,
    give_back,
    new_worker,
    retry,
    row,
    snooze,
    stop,
    stored,
    success,
    take,
    take_one,
    write,
)
from tests.tasks import lifecycle_note

pytestmark = pytest.mark.django_db

cancelling = import_module("jobs.lifecycle.cancel")  # the package has the function by this name


def rescue_from(taken):
    rescue(connection(), [taken.worker_id], clock.now())


def interrupted(taken):
    interrupt(connection(), [taken], clock.now())


@pytest.mark.parametrize("state", ["queued", "scheduled", "blocked"])
def test_what_waits_is_cancelled(clock, state):
    run = stored(state=state, unique_hash="h")
    before = row(run)
    clock.move(5)
    assert run.cancel() is CancelAnswer.CANCELLED
    assert row(run) == before | {
        "state": "cancelled",
        "reason_code": "cancelled_by_request",
        "reason_json": '{"by": ""}',
        "finished_at": clock.now(),
        "unique_hash": None,
    }
    assert (run.state, run.is_finished) == ("cancelled", True)
    assert run.reason == "Cancelled before it started."


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "skipped"])
def test_too_late(state):
    run = stored(state=state, unique_hash="h")
    before = row(run)
    assert run.cancel(actor="somebody", note="please") is CancelAnswer.FINISHED
    assert row(run) == before
    assert not AuditEntry.objects.exists()


def test_what_runs_is_asked_to_end(clock):
    run = stored()
    take_one()
    before = row(run)
    clock.move(5)
    assert run.cancel(actor="somebody", note="please") is CancelAnswer.REQUESTED
    assert row(run) == before | {"cancel_requested_at": clock.now()}
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_id, entry.note) == ("ask to end", str(run.pk), "please")


def test_it_is_asked_once(clock):
    run = stored()
    take_one()
    run.cancel(actor="somebody")
    before = row(run)
    clock.move(5)
    assert fresh(run).cancel(actor="another one") is CancelAnswer.REQUESTED
    assert row(run) == before
    assert AuditEntry.objects.count() == 1


# What its worker writes about a run after somebody has asked it to end: the state that it then has, its reason, how its
# attempt is kept.
AFTERWARDS = {
    "returned": (success, "succeeded", "", []),
    "raised": (failure, "failed", "function_raised", ["failed"]),
    "would be tried again": (retry, "failed", "not_repeated", ["failed"]),
    "snoozed": (snooze, "cancelled", "stopped_by_request", ["cancelled"]),
    "stopped": (stop, "cancelled", "stopped_itself", ["cancelled"]),
    "its process died": (death, "cancelled", "stopped_with_worker", ["lost"]),
}


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize(("end", "state", "reason", "outcomes"), AFTERWARDS.values(), ids=AFTERWARDS)
def test_what_was_asked_to_end_is_never_tried_again(end, state, reason, outcomes, one_by_one):
    run = stored(unique_hash="h", max_attempts=9)
    taken = take_one()
    assert run.cancel() is CancelAnswer.REQUESTED
    assert write(end(taken), one_by_one=one_by_one)
    run.refresh_from_db()
    assert (run.state, run.reason_code, run.unique_hash) == (state, reason, None)
    assert run.finished_at is not None
    assert [attempt.outcome for attempt in run.attempts.all()] == outcomes


def test_what_was_asked_to_end_and_has_not_started_is_cancelled_when_it_is_given_back(clock):
    run = stored(unique_hash="h")
    taken = take_one()
    run.cancel()
    clock.move(3)
    assert give_back(taken) == [run.pk]
    run.refresh_from_db()
    assert (run.state, run.reason_code, run.finished_at) == ("cancelled", "cancelled_by_request", clock.now())
    assert (run.unique_hash, run.executions) == (None, 0)
    assert not run.attempts.exists()


@pytest.mark.parametrize("lose", [rescue_from, interrupted])
def test_what_was_asked_to_end_ends_with_its_worker(lose):
    run = stored()
    taken = take_one(worker=new_worker().pk)
    run.cancel()
    lose(taken)
    assert (fresh(run).state, fresh(run).reason_code) == ("cancelled", "stopped_with_worker")


def test_a_run_that_is_gone():
    run = stored()
    Run.objects.all().delete()
    with pytest.raises(Run.DoesNotExist):
        run.cancel()


def test_it_never_runs(notes):
    lifecycle_note.enqueue("cancelled").cancel()
    lifecycle_note.enqueue("other")
    assert drain() == 1
    assert notes == ["other"]


def test_a_second_cancel_says_that_it_has_ended():
    run = stored()
    assert run.cancel() is CancelAnswer.CANCELLED
    before = row(run)
    assert fresh(run).cancel() is CancelAnswer.FINISHED
    assert row(run) == before


class TestStale:
    """The instance in hand is older than the row: what the row says decides."""

    def test_it_was_claimed(self):
        run = stored()
        taken = take_one()
        assert run.state == "queued"
        assert run.cancel() is CancelAnswer.REQUESTED
        assert run.state == "running"
        assert write(success(taken)) != []

    @pytest.mark.parametrize("end", [success, failure])
    def test_it_has_ended(self, end):
        run = stored()
        write(end(take_one()))
        before = row(run)
        assert run.cancel() is CancelAnswer.FINISHED
        assert row(run) == before

    def test_it_looks_finished_but_waits(self):
        run = stored()
        run.state = "succeeded"
        assert run.cancel() is CancelAnswer.CANCELLED


def test_a_release_between_the_two_updates_is_cancelled_all_the_same(monkeypatch):
    run = stored()
    claimed, ask = take(), cancelling._ask_running

    def release_before_asking(*args):
        if claimed:
            give_back(claimed.pop())
        return ask(*args)

    monkeypatch.setattr(cancelling, "_ask_running", release_before_asking)
    assert cancel(run) is CancelAnswer.CANCELLED
    assert row(run)["state"] == "cancelled"


def test_by_a_user(clock):
    ann = User.objects.create(username="ann")
    run = stored()
    run.cancel(actor=ann, note="wrong month")
    assert fresh(run).reason == "Cancelled before it started by ann: wrong month."
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_type, entry.object_id) == ("cancel", "run", str(run.pk))
    assert (entry.actor_key, entry.actor_name, entry.note, entry.at) == (str(ann.pk), "ann", "wrong month", clock.now())


def test_rolled_back_with_the_callers_transaction():
    run = stored()
    with transaction.atomic():
        assert run.cancel(actor="somebody") is CancelAnswer.CANCELLED
        transaction.set_rollback(True)
    assert fresh(run).state == "queued"
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
class TestRaceWithAClaim:
    """One of the two has begun and not committed when the other comes."""

    def other_comes(self, func):
        """A thread that calls `func` and is about to meet what this thread holds."""
        coming = threading.Event()

        def come():
            Run.objects.exists()  # connected
            coming.set()
            return func()

        thread = Thread(come)
        assert coming.wait(PATIENCE)
        return thread

    def test_the_claim_is_first(self):
        run = stored()
        with transaction.atomic():
            taken = take_one()
            thread = self.other_comes(lambda: fresh(run).cancel())
        assert thread.outcome() is CancelAnswer.REQUESTED
        assert fresh(run).state == "running"
        assert write(success(taken)) != []

    @pytest.mark.parametrize(("end", "state"), [(success, "succeeded"), (failure, "failed"), (retry, "scheduled")])
    def test_the_end_is_first(self, end, state):
        run = stored()
        taken = take_one()
        with transaction.atomic():
            write(end(taken))
            thread = self.other_comes(lambda: fresh(run).cancel())
        is_over = state != "scheduled"
        assert thread.outcome() is (CancelAnswer.FINISHED if is_over else CancelAnswer.CANCELLED)
        assert fresh(run).state == (state if is_over else "cancelled")

    @pytest.mark.parametrize(("end", "state"), [(success, "succeeded"), (retry, "failed"), (snooze, "cancelled")])
    def test_the_cancel_is_before_the_end(self, end, state):
        run = stored(max_attempts=3)
        taken = take_one()
        with transaction.atomic():
            assert run.cancel() is CancelAnswer.REQUESTED
            thread = self.other_comes(lambda: write(end(taken)))
        assert thread.outcome() != []
        assert fresh(run).state == state

    def test_the_cancel_is_first(self):
        run = stored()
        with transaction.atomic():
            assert run.cancel() is CancelAnswer.CANCELLED
            thread = self.other_comes(lambda: take(1))
        assert thread.outcome() == []
        assert (fresh(run).state, fresh(run).claim_no) == ("cancelled", 0)

    @pytest.mark.skipif(connection().vendor == "sqlite", reason="SQLite has one writer at a time")
    @pytest.mark.parametrize(
        ("lose", "step"),
        [
            (rescue_from, "locked_by_others"),
            (interrupted, "locked_by_others"),
            (lambda taken: write(death(taken)), "changes_after"),
        ],
        ids=["rescue", "interrupt", "death"],
    )
    def test_the_cancel_comes_after_a_rescuer_has_read_the_run(self, monkeypatch, lose, step):
        """It is answered "requested", and so the run is never started again."""
        run = stored()
        taken = take_one(worker=new_worker().pk)
        original, answers = getattr(rescues, step), []

        def cancelled_meanwhile(*args):
            if not answers:
                answers.append(elsewhere(lambda: fresh(run).cancel()))
            return original(*args)

        monkeypatch.setattr(rescues, step, cancelled_meanwhile)
        with transaction.atomic():
            lose(taken)
        assert answers == [CancelAnswer.REQUESTED]
        assert (fresh(run).state, fresh(run).reason_code) == ("cancelled", "stopped_with_worker")

    def test_the_claim_is_first_and_is_undone(self):
        run = stored()
        with transaction.atomic():
            take_one()
            thread = self.other_comes(lambda: fresh(run).cancel())
            transaction.set_rollback(True)
        assert thread.outcome() is CancelAnswer.CANCELLED
        assert take(1) == []

    def test_many_at_once_agree(self):
        """Whoever wins: a run is either cancelled or taken, and every answer says which."""
        runs = [stored(ready_in=n) for n in range(12)]
        barrier = threading.Barrier(3, timeout=PATIENCE)

        def claim_all():
            barrier.wait()
            return {taken.id for _ in range(len(runs)) for taken in take(1)}

        def cancel_all():
            mine = [fresh(run) for run in runs]
            barrier.wait()
            return {run.pk: run.cancel() for run in mine}

        threads = Thread(claim_all), Thread(cancel_all), Thread(cancel_all)
        taken, one, other = (thread.outcome() for thread in threads)
        for run in runs:
            answers = {one[run.pk], other[run.pk]}
            if run.pk in taken:
                assert answers == {CancelAnswer.REQUESTED}
                assert fresh(run).state == "running"
            else:
                assert answers == {CancelAnswer.CANCELLED, CancelAnswer.FINISHED}
                assert fresh(run).state == "cancelled"
