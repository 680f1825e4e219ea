"""Claims beside claims and beside open transactions of other people: nobody waits, nobody is idle, and the next best
run that can be had is the one that is taken."""

from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connections, transaction

from jobs.core import clock
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.promote import promote
from jobs.models import Run
from tests.lifecycle.support import Thread, elsewhere, failure, fresh, give_back, stored, success, take, take_one, write
from tests.runtime.support import Gate
from tests.tasks import lifecycle_add, lifecycle_note

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["", "repeatable read"], ids=["as it is", "repeatable read"], autouse=True)
def isolation(request, transactional_db):
    """MariaDB is used at both levels: the one is Django's default, the other the server's. What the other databases
    are asked for is fixed."""
    if not request.param:
        yield
        return
    if connection().vendor != "mysql":
        pytest.skip("MariaDB's other level")
    options = connections.settings[alias()]["OPTIONS"]
    before = options.copy()
    connection().close()
    options["isolation_level"] = request.param
    yield
    connection().close()
    options.clear()
    options.update(before)


@contextmanager
def open_transaction(*steps):
    """Another connection carries out the steps in one transaction, which stays open until the block ends."""
    gate = Gate()

    def hold():
        with transaction.atomic(using=alias()):
            for step in steps:
                step()
            gate()

    thread = Thread(hold)
    try:
        gate.wait_until_entered()
        yield
    finally:
        gate.open()
        thread.outcome()


def needs_writers_side_by_side():
    if connection().vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time: a claim waits for an open transaction")


def ids(runs):
    return [run.pk if isinstance(run, Run) else run.id for run in runs]


@pytest.mark.parametrize("statement", ["UPDATE jobs_run", None], ids=["before the update", "before the commit"])
def test_a_claimer_stops_in_the_middle_and_the_other_takes_the_next_best(statement):
    if statement and connection().vendor == "postgresql":
        pytest.skip("PostgreSQL locks and updates in one statement")
    runs = [stored(ready_in=n) for n in range(6)]
    gate, taken = Gate(), []

    def stop_before_the_update(execute, sql, *rest):
        if statement and sql.startswith(statement):
            gate()
        return execute(sql, *rest)

    def stopping():
        with transaction.atomic(using=alias()), connection().execute_wrapper(stop_before_the_update):
            taken.extend(take(2, worker=1))
            if not statement:
                gate()

    first = Thread(stopping)
    gate.wait_until_entered()
    if connection().vendor == "sqlite":  # there the other one waits for the lock, and comes second
        second = Thread(take, 2)
        gate.open()
        assert ids(second.outcome()) == ids(runs[2:4])
    else:
        assert ids(elsewhere(take, 2)) == ids(runs[2:4])
        gate.open()
    first.outcome()
    assert ids(taken) == ids(runs[:2])
    assert ids(take(9)) == ids(runs[4:])


def test_only_what_is_claimed_is_locked():
    """The neighbours in the order and in the table can be locked by others, without waiting."""
    needs_writers_side_by_side()
    runs = [stored(ready_in=n) for n in range(9)]
    with open_transaction(lambda: take(3)), transaction.atomic(using=alias()):
        free = Run.objects.select_for_update(skip_locked=True).order_by("pk")
        assert ids(free) == ids(runs[3:])
    with open_transaction(lambda: take(1, queues=["default"])):
        for number in range(3):  # before, beside and after it in the index
            lifecycle_note.using(priority=number - 1).enqueue(number)
    assert Run.objects.filter(state="queued").count() == 5 + 3


def test_runs_of_a_caller_who_has_not_committed_do_not_exist_yet():
    needs_writers_side_by_side()
    run, later = stored(), stored(ready_in=1)

    def enqueue():
        lifecycle_note.using(priority=-5).enqueue("urgent")
        lifecycle_add.using(priority=-6, unique_key="k").enqueue(1)

    with open_transaction(enqueue):
        assert ids(elsewhere(take)) == [run.pk]
    urgent = Run.objects.filter(priority__lt=0).order_by("priority")
    assert ids(take(3)) == [*ids(urgent), later.pk]


@pytest.mark.parametrize("change", ["cancel", "lock", "less urgent", "delete"])
def test_a_run_that_somebody_changes_is_passed_over_meanwhile(change):
    needs_writers_side_by_side()
    first, second = stored(ready_in=-1), stored()
    this = Run.objects.filter(pk=first.pk)
    steps = {
        "cancel": lambda: fresh(first).cancel(),
        "lock": lambda: this.select_for_update().get(),
        "less urgent": lambda: this.update(order_key=second.order_key + 1),
        "delete": this.delete,
    }
    with open_transaction(steps[change]):
        assert ids(elsewhere(take)) == [second.pk]
    assert ids(take()) == ([] if change in ("cancel", "delete") else [first.pk])


def test_a_conflict_of_a_unique_key_hides_nothing():
    """A caller who was told that the run is there already, and goes on with its transaction, keeps nobody from claiming
    it and from writing its end."""
    needs_writers_side_by_side()
    keyed = lifecycle_add.using(unique_key="k")
    run, answers = keyed.enqueue(1), []

    def look_and_enqueue():
        Run.objects.count()  # from here on REPEATABLE READ sees no later commit
        answers.append(keyed.enqueue(2))

    with open_transaction(look_and_enqueue):
        taken = elsewhere(take_one)
        assert taken.id == run.pk
        elsewhere(write, success(taken))
        assert fresh(run).state == "succeeded"
    assert [(answer.pk, answer.is_new) for answer in answers] == [(run.pk, False)]
    assert keyed.enqueue(3).is_new


def test_the_holder_of_a_key_may_be_younger_than_what_the_caller_sees():
    needs_writers_side_by_side()
    keyed = lifecycle_add.using(unique_key="k")
    with transaction.atomic(using=alias()):
        Run.objects.count()
        holder = elsewhere(lambda: keyed.enqueue(1))
        answer = keyed.enqueue(2)
    assert (answer.pk, answer.is_new) == (holder.pk, False)


@pytest.mark.parametrize("end", [success, failure, give_back], ids=lambda function: function.__name__)
def test_ends_and_releases_do_not_wait_for_those_of_others(end):
    needs_writers_side_by_side()
    runs = [stored(ready_in=n) for n in range(5)]
    taken = take(5)

    def write_end(run):
        return give_back(run) if end is give_back else write(end(run))

    with open_transaction(lambda: write_end(taken[2])):
        for number in (0, 1, 3, 4):
            elsewhere(write_end, taken[number])
        assert [fresh(run).state == "running" for run in runs] == [number == 2 for number in range(5)]


def test_two_who_promote_move_different_runs(monkeypatch):
    monkeypatch.setattr("jobs.lifecycle.promote.BATCH", 3)
    runs = [stored(state="scheduled", ready_in=-9, due_at=clock.now() - timedelta(seconds=9 - n)) for n in range(5)]

    def promote_now():
        with transaction.atomic(using=alias()):
            return promote(connection(), clock.now())

    if connection().vendor != "sqlite":
        with open_transaction(promote_now):
            assert elsewhere(promote_now) == 2
    else:
        assert [elsewhere(promote_now), elsewhere(promote_now)] == [3, 2]
    assert [fresh(run).state for run in runs] == ["queued"] * 5


def test_a_scheduled_run_can_be_stored_while_others_are_promoted():
    """A range that is locked, gaps included, would keep callers waiting for the whole cycle."""
    needs_writers_side_by_side()
    stored(state="scheduled", due_at=clock.now() - timedelta(seconds=1))

    def promote_now():
        promote(connection(), clock.now())

    with open_transaction(promote_now):
        for seconds in (-2, -0.5, 1, 100):
            elsewhere(lambda seconds=seconds: lifecycle_note.using(run_after=timedelta(seconds=seconds)).enqueue(1))
            elsewhere(
                lambda seconds=seconds: stored(state="scheduled", due_at=clock.now() + timedelta(seconds=seconds))
            )
    assert Run.objects.count() == 9
