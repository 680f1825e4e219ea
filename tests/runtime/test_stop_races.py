"""What happens in the middle of a stop's transaction: the order of each race is forced."""

from contextlib import contextmanager

import pytest
from django.db import OperationalError

from jobs.lifecycle import claim as claims
from jobs.models import Worker
from jobs.runtime import dispatcher as module
from jobs.runtime.scheduler import LAST_WRITE_SECONDS, Scheduler
from tests.runtime.support import states

pytestmark = pytest.mark.django_db


@pytest.fixture
def while_it_waits(monkeypatch):
    """Have something happen while the next transaction waits for the database; its answer may be lost."""

    def arrange(action, *, is_answer_lost=False):
        transact = module.short_transaction

        @contextmanager
        def waiting():
            monkeypatch.undo()
            action()
            with transact() as db:
                yield db
            if is_answer_lost:
                raise OperationalError("gone away")

        monkeypatch.setattr(module, "short_transaction", waiting)

    return arrange


@pytest.fixture
def working(by_hand, ok, clock):
    """A dispatcher with a function at work, its context, and the run."""
    run = ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    return dispatcher, dispatcher.executor.begin(), run


def test_a_function_that_ends_while_the_last_transaction_waits_has_ended(working, while_it_waits):
    dispatcher, context, run = working
    dispatcher.request_stop(0)
    while_it_waits(lambda: dispatcher.executor.end(context))
    dispatcher.cycle()
    assert states([run]) == ["succeeded"]
    assert dispatcher.is_done


def test_one_that_ends_within_the_last_transaction_has_one_more(working, monkeypatch):
    dispatcher, context, run = working
    dispatcher.request_stop(0)
    release = claims.release

    def ending(*args):
        monkeypatch.undo()
        dispatcher.executor.end(context)
        return release(*args)

    monkeypatch.setattr(claims, "release", ending)
    dispatcher.cycle()
    assert not dispatcher.is_done
    dispatcher.cycle()
    assert states([run]) == ["succeeded"]
    assert dispatcher.is_done
    run.refresh_from_db()
    assert run.interruptions == 0


def test_a_stop_that_is_asked_for_while_the_claim_waits_strands_no_run(by_hand, ok, clock, while_it_waits):
    runs = ok.enqueue_many([{}] * 2)
    dispatcher = by_hand(threads=2)
    while_it_waits(lambda: dispatcher.request_stop(100))
    dispatcher.cycle()
    assert dispatcher.executor.waiting == []
    assert (states(runs), dispatcher.is_done) == (["queued"] * 2, True)
    assert Worker.objects.get().state == "stopped"


def test_a_stop_that_is_asked_for_within_the_claim_gives_it_back(by_hand, ok, clock, monkeypatch):
    runs = ok.enqueue_many([{}] * 2)
    dispatcher = by_hand(threads=2)
    claim = claims.claim

    def stopping(*args, **kwargs):
        monkeypatch.undo()
        dispatcher.request_stop(100)
        return claim(*args, **kwargs)

    monkeypatch.setattr(claims, "claim", stopping)
    dispatcher.cycle()
    assert not dispatcher.is_done
    assert not any(dispatcher.may_start(context) for context in dispatcher.executor.waiting)
    dispatcher.cycle()
    assert (states(runs), dispatcher.is_done) == (["queued"] * 2, True)


def test_a_claim_whose_answer_was_lost_before_the_stop_is_given_back(by_hand, ok, clock, while_it_waits):
    run = ok.enqueue()
    dispatcher = by_hand()
    while_it_waits(lambda: None, is_answer_lost=True)
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    assert states([run]) == ["running"]
    dispatcher.request_stop(100)
    dispatcher.cycle()
    assert dispatcher.executor.waiting == []
    assert (states([run]), dispatcher.is_done) == (["queued"], True)


def test_the_grace_counts_from_the_first_request(clock, monkeypatch):
    """A server's SIGTERM begins the stop; when the process ends, what is left of the grace is left."""
    scheduler = Scheduler(kind="test", threads=1, grace_seconds=100)
    waits = []
    monkeypatch.setattr(scheduler.stopped, "wait", waits.append)
    scheduler.request_stop(float("inf"))
    clock.move(40)
    scheduler.stop()
    clock.move(100)
    scheduler.stop()
    assert waits == [60 + LAST_WRITE_SECONDS + 1, LAST_WRITE_SECONDS + 1]


def test_functions_that_run_on_for_a_dead_identity_are_functions_that_run(working, clock):
    """`runscheduler` ends with them: their runs are somebody else's."""
    dispatcher, context, _ = working
    Worker.objects.update(state="dead")
    clock.move(10)
    dispatcher.cycle()
    dispatcher.request_stop(0)
    dispatcher.cycle()
    assert dispatcher.is_done
    assert dispatcher.hold.has_functions
    dispatcher.executor.end(context)
    dispatcher.hold.gather()
    assert not dispatcher.hold.has_functions
