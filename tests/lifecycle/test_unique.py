"""At most one unfinished run for a key of a function; the INSERT is the arbiter."""

import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.database import connection
from jobs.models import Run
from tests.lifecycle.support import PATIENCE, Thread, failure, fresh, row, stored, success, take_one, write
from tests.tasks import lifecycle_add, lifecycle_note, lifecycle_single

pytestmark = pytest.mark.django_db
keyed = lifecycle_add.using(unique_key="k")


def test_a_second_one_gets_the_first():
    first, second = keyed.enqueue(1), keyed.enqueue(2)
    assert (first.is_new, second.is_new) == (True, False)
    assert second.pk == first.pk
    assert second.arguments == {"a": 1}
    assert row(first)["unique_key"] == "k"
    assert Run.objects.count() == 1


def test_nothing_of_the_first_is_changed():
    first = keyed.enqueue(1)
    before = row(first)
    lifecycle_add.using(unique_key="k", priority=-100, queue="fast", run_after=timedelta(hours=1)).enqueue(2)
    assert row(first) == before


@pytest.mark.parametrize("state", ["queued", "scheduled", "running", "blocked"])
def test_the_key_is_held_while_the_run_is_unfinished(state):
    first = keyed.enqueue(1)
    Run.objects.filter(pk=first.pk).update(state=state)
    assert keyed.enqueue(2).pk == first.pk


def test_the_key_is_free_after_every_kind_of_end():
    keyed.enqueue(1)
    write(success(take_one()))
    second = keyed.enqueue(2)
    assert second.is_new
    write(failure(take_one()))
    third = keyed.enqueue(3)
    assert third.is_new
    third.cancel()
    assert keyed.enqueue(4).is_new
    assert Run.objects.filter(unique_key="k").count() == 4


def test_a_released_key_stays_readable():
    run = keyed.enqueue(1)
    write(success(take_one()))
    assert (fresh(run).unique_key, fresh(run).unique_hash) == ("k", None)


def test_the_key_belongs_to_its_function():
    assert keyed.enqueue(1).is_new
    assert lifecycle_note.using(unique_key="k").enqueue("x").is_new
    assert lifecycle_single.enqueue().is_new
    assert not lifecycle_single.enqueue(5).is_new
    assert lifecycle_single.using(unique_key=None).enqueue().is_new


@pytest.mark.parametrize("other", ["K", "k ", " k", "ḱ", "k\u0301", "kk"])
def test_keys_are_compared_exactly(other):
    keyed.enqueue(1)
    assert lifecycle_add.using(unique_key=other).enqueue(2).is_new


def test_keys_cannot_be_pieced_together():
    a = lifecycle_add.using(unique_key='x", "y').enqueue(1)
    b = lifecycle_add.using(unique_key="x").enqueue(1)
    assert a.unique_hash != b.unique_hash


def test_the_callers_transaction_survives_a_conflict():
    first = keyed.enqueue(1)
    with transaction.atomic():
        User.objects.create(username="before")
        assert keyed.enqueue(2).pk == first.pk
        User.objects.create(username="after")
        other = lifecycle_add.using(unique_key="other").enqueue(3)
    assert User.objects.count() == 2
    assert other.is_new
    assert Run.objects.count() == 2


def test_the_insert_stands_in_a_savepoint():
    """Where an error spoils the transaction, as on PostgreSQL, going back to it is what lets the caller's survive."""
    keyed.enqueue(1)
    with transaction.atomic(), CaptureQueriesContext(connection()) as captured:
        assert not keyed.enqueue(2).is_new
    first_words = [query["sql"].split(maxsplit=1)[0] for query in captured]
    if connection().vendor == "mysql":  # an INSERT that meets the other row would lock it
        assert first_words == ["SELECT"]
    else:
        assert first_words[:3] == ["SAVEPOINT", "INSERT", "ROLLBACK"]


def test_a_conflict_with_what_is_not_committed_yet():
    with transaction.atomic():
        first = keyed.enqueue(1)
        assert keyed.enqueue(2).pk == first.pk
        transaction.set_rollback(True)
    assert keyed.enqueue(3).is_new


def test_a_fault_of_the_database_is_no_conflict(refuse):
    refuse("NEW.unique_key = 'k'", event="INSERT")
    stored()
    with pytest.raises(Exception, match="refused by a test"), transaction.atomic():
        keyed.enqueue(1)
    assert Run.objects.count() == 1


def test_the_holder_may_end_between_the_two_statements(monkeypatch):
    """The INSERT meets the holder, which is gone when it is looked up: then this one is the first."""
    first = keyed.enqueue(1)
    claimed = take_one()
    original, ended = type(Run.objects).using, []

    def using(manager, *args):
        query = original(manager, *args)
        if not ended:
            ended.append(True)
            write(success(claimed))
        return query

    monkeypatch.setattr(type(Run.objects), "using", using)
    second = keyed.enqueue(2)
    assert ended
    assert second.is_new
    assert fresh(first).state == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once():
    barrier = threading.Barrier(20, timeout=PATIENCE)

    def submit(number):
        Run.objects.exists()  # connected before the race
        barrier.wait()
        return keyed.enqueue(number)

    runs = [thread.outcome() for thread in [Thread(submit, number) for number in range(20)]]
    assert Run.objects.count() == 1
    assert {run.pk for run in runs} == {Run.objects.get().pk}
    assert sorted(run.is_new for run in runs) == [False] * 19 + [True]
    (first,) = (run for run in runs if run.is_new)
    assert Run.objects.get().arguments == first.arguments


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_inside_transactions_of_their_own():
    barrier = threading.Barrier(20, timeout=PATIENCE)

    def submit(number):
        Run.objects.exists()
        barrier.wait()
        with transaction.atomic():
            User.objects.create(username=f"u{number}")
            return keyed.enqueue(number).is_new

    answers = [thread.outcome() for thread in [Thread(submit, number) for number in range(20)]]
    assert sorted(answers) == [False] * 19 + [True]
    assert (Run.objects.count(), User.objects.count()) == (1, 20)
