"""A stop that is asked for in the middle of a cycle, and functions that end in the middle of the last one."""

from contextlib import contextmanager

import pytest
from django.db import transaction

from jobs.models import Attempt, Run, Worker
from tests.runtime.support import SETTINGS, states

pytestmark = pytest.mark.django_db(transaction=True)


def while_the_database_is_waited_for(monkeypatch, happens):
    """`happens` between the decision to write and the begin of the transaction, once."""
    atomic = transaction.atomic

    @contextmanager
    def waiting(**options):
        monkeypatch.setattr(transaction, "atomic", atomic)
        happens()
        with atomic(**options):
            yield

    monkeypatch.setattr(transaction, "atomic", waiting)


def leave(dispatcher):
    for _ in range(5):
        if not dispatcher.is_done:
            dispatcher.cycle()
    assert dispatcher.is_done


@pytest.mark.parametrize("on_lost", ["requeue", "fail"])
def test_nothing_is_claimed_by_a_cycle_that_leaves(by_hand, ok, clock, monkeypatch, on_lost):
    run = ok.using(on_lost=on_lost).enqueue()
    dispatcher = by_hand()
    while_the_database_is_waited_for(monkeypatch, lambda: dispatcher.request_stop(0))
    leave(dispatcher)
    assert states([run]) == ["queued"]
    assert Worker.objects.get(pk=dispatcher.worker_id).state == "stopped"
    assert not Attempt.objects.exists()


def test_what_ended_while_the_last_cycle_waited_has_ended(by_hand, ok, clock, monkeypatch):
    run = ok.using(on_lost="fail").enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    dispatcher.executor.begin()
    dispatcher.request_stop(0)
    executor = dispatcher.executor
    while_the_database_is_waited_for(monkeypatch, lambda: executor.end(executor.running[0]))
    leave(dispatcher)
    assert states([run]) == ["succeeded"]
    assert not Attempt.objects.exists()


def test_what_had_not_started_is_released_and_not_interrupted(by_hand, ok, clock, monkeypatch):
    run = ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    clock.move(SETTINGS["HEARTBEAT_SECONDS"])  # there is something to write
    while_the_database_is_waited_for(monkeypatch, lambda: dispatcher.request_stop(0))
    leave(dispatcher)
    assert states([run]) == ["queued"]
    assert Run.objects.get(pk=run.pk).interruptions == 0
