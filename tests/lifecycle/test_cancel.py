"""Cancelling what waits, and what is answered when it is too late."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobs.lifecycle import CancelAnswer, cancel
from jobs.lifecycle import claim as claims
from jobs.lifecycle.database import connection
from jobs.models import AuditEntry, Run
from jobs.testing import drain
from tests.lifecycle.support import PATIENCE, Thread, failure, fresh, row, stored, success, take, take_one, write
from tests.tasks import lifecycle_note

pytestmark = pytest.mark.django_db


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


@pytest.mark.parametrize("state", ["running", "succeeded", "failed", "cancelled", "skipped"])
def test_too_late(state):
    run = stored(state=state, unique_hash="h")
    before = row(run)
    answer = run.cancel(actor="somebody", note="please")
    assert answer is (CancelAnswer.RUNNING if state == "running" else CancelAnswer.FINISHED)
    assert row(run) == before
    assert not AuditEntry.objects.exists()


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
        assert run.cancel() is CancelAnswer.RUNNING
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


def test_a_release_between_the_update_and_the_look_is_cancelled_all_the_same(monkeypatch):
    run = stored()
    claimed, refresh = take(), Run.refresh_from_db

    def release_before_the_first_look(self, **options):
        if claimed:
            claims.release(connection(), [claimed.pop()])
        refresh(self, **options)

    monkeypatch.setattr(Run, "refresh_from_db", release_before_the_first_look)
    assert cancel(run) is CancelAnswer.CANCELLED
    assert row(run)["state"] == "cancelled"


def test_a_run_that_comes_and_goes_for_ever_is_told_to_run(monkeypatch):
    run = stored()
    take()
    monkeypatch.setattr(Run, "refresh_from_db", lambda self, **options: setattr(self, "state", "queued"))
    assert cancel(run) is CancelAnswer.RUNNING
    assert row(run)["state"] == "running"


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
        assert thread.outcome() is CancelAnswer.RUNNING
        assert fresh(run).state == "running"
        assert write(success(taken)) != []

    def test_the_cancel_is_first(self):
        run = stored()
        with transaction.atomic():
            assert run.cancel() is CancelAnswer.CANCELLED
            thread = self.other_comes(lambda: take(1))
        assert thread.outcome() == []
        assert (fresh(run).state, fresh(run).claim_no) == ("cancelled", 0)

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
                assert answers == {CancelAnswer.RUNNING}
                assert fresh(run).state == "running"
            else:
                assert answers == {CancelAnswer.CANCELLED, CancelAnswer.FINISHED}
                assert fresh(run).state == "cancelled"
