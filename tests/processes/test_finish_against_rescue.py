"""A worker that was taken for dead ends a run at the very moment in which others take it: one of them wins."""

from functools import wraps

import pytest
from django.db import OperationalError, connection, transaction

from jobs.core import clock
from jobs.core.states import State
from jobs.lifecycle import rescue as rescues
from jobs.lifecycle.claim import claim
from jobs.lifecycle.database import short_transaction
from jobs.lifecycle.finish import finish
from jobs.lifecycle.outcome import Outcome
from jobs.lifecycle.workers import enter
from jobs.models import Run
from tests.runtime.support import together
from tests.tasks import lifecycle_note

TIMES = 200
TRIES = 20

pytestmark = pytest.mark.django_db(transaction=True)


def a_worker() -> int:
    return enter(kind="test", executor="hand", threads=1, queues=None, now=clock.now()).pk


def claim_one(worker_id: int):
    lifecycle_note.enqueue("x")
    return claim_next(worker_id)


def claim_next(worker_id: int):
    with transaction.atomic():
        (claimed,) = claim(connection, worker_id=worker_id, limit=1, now=clock.now())
    return claimed


def again_after_errors(function):
    """As a dispatcher does: what the database gives up, such as one of two in a deadlock, is done again."""

    @wraps(function)
    def again(*args):
        for _ in range(TRIES - 1):
            try:
                return function(*args)
            except OperationalError:
                connection.close()
        return function(*args)

    return again


@again_after_errors
def write_the_end(claimed) -> bool:
    outcome = Outcome(claimed, State.SUCCEEDED, started_at=clock.now(), ended_at=clock.now(), result_json="1")
    with short_transaction() as db:
        return bool(finish(db, [outcome]).stored)


@again_after_errors
def rescue_all(worker_id: int) -> list[int]:
    with short_transaction() as db:
        return rescues.rescue(db, [worker_id], clock.now())


def check_one_end(claimed, is_stored: bool, is_rescued: bool) -> None:
    run = Run.objects.get(pk=claimed.id)
    ends = (run.state, run.result, run.losses, run.attempts.count())
    assert is_stored is not is_rescued
    assert ends == (("succeeded", 1, 0, 0) if is_stored else ("scheduled", None, 1, 1))


def test_at_the_same_instant_each_run_has_one_end():
    for _ in range(TIMES):
        worker = a_worker()
        claimed = claim_one(worker)
        stored, rescued = [], []
        together(
            [
                lambda claimed=claimed, stored=stored: stored.append(write_the_end(claimed)),
                lambda worker=worker, rescued=rescued: rescued.extend(rescue_all(worker)),
            ]
        )
        if not stored[0] and not rescued:  # one waited for no lock of the other's: it is tried again at the next look
            rescued += rescue_all(worker)
        check_one_end(claimed, stored[0], bool(rescued))


@pytest.fixture
def between(monkeypatch):
    """Have something happen after the rescue has read whom it will take, before it takes them."""

    def between(what):
        read = rescues._orphans

        def read_then(db):
            found = read(db)
            together([what])
            return found

        monkeypatch.setattr(rescues, "_orphans", read_then)

    return between


@pytest.mark.skipif(connection.vendor == "sqlite", reason="one transaction at a time writes, and reads before it")
def test_an_end_that_is_written_while_the_rescue_reads_stays(between):
    worker = a_worker()
    claimed = claim_one(worker)
    between(lambda: write_the_end(claimed))
    assert rescue_all(worker) == []
    check_one_end(claimed, True, False)


def test_an_end_that_comes_after_the_rescue_changes_nothing():
    worker = a_worker()
    claimed = claim_one(worker)
    assert rescue_all(worker) == [claimed.id]
    assert write_the_end(claimed) is False
    check_one_end(claimed, False, True)


def test_nor_does_it_when_somebody_else_has_the_run_by_now():
    claimed = claim_one(a_worker())
    assert rescue_all(claimed.worker_id) == [claimed.id]
    Run.objects.update(state="queued", due_at=None)  # its pause is over
    again = claim_next(a_worker())
    assert write_the_end(claimed) is False
    run = Run.objects.get(pk=claimed.id)
    assert (run.state, run.worker_id, run.claim_no) == ("running", again.worker_id, 2)
    assert write_the_end(again) is True
