"""What a claim makes of the runs it takes, and giving them back."""

import threading
from datetime import timedelta

import pytest

from jobs.lifecycle import claim as claims
from jobs.lifecycle import workers
from jobs.lifecycle.database import connection
from jobs.models import Queue, Run
from jobs.testing import drain
from tests.lifecycle.support import (
    PATIENCE,
    Thread,
    failure,
    fresh,
    give_back,
    row,
    stored,
    success,
    take,
    take_one,
    write,
)
from tests.tasks import lifecycle_note

pytestmark = pytest.mark.django_db


def test_a_claimed_run(clock):
    run = stored(reason_code="worker_lost", reason_json="{}", losses=1)
    before = row(run)
    clock.move(5)
    taken = take_one(worker=7)
    assert row(run) == before | {
        "state": "running",
        "worker_id": 7,
        "claim_no": 1,
        "started_at": clock.now(),
        "reason_code": "",
        "reason_json": None,
    }
    assert (taken.id, taken.worker_id, taken.claim_no, taken.attempt) == (run.pk, 7, 1, 2)


def test_what_is_given_back_is_what_the_row_says():
    run = stored(failures=1, interruptions=2, snoozes=3, max_attempts=4, max_losses=5, max_interruptions=6)
    taken = take_one(worker=7)
    columns = row(run)
    for name in claims.ClaimedRun.__dataclass_fields__:
        assert getattr(taken, name) == columns[name], name
    assert taken.key == (run.pk, 7, 1)
    assert claims.owned_by(connection(), 7) == [taken]


def test_the_claim_number_is_never_reset():
    stored()
    for number in range(1, 4):
        taken = take_one(worker=number % 2)
        assert taken.claim_no == number
        give_back(taken)


@pytest.mark.parametrize("state", ["blocked", "scheduled", "running", "succeeded", "failed", "cancelled", "skipped"])
def test_only_queued_runs_are_taken(state):
    run = stored(state=state, priority=-100)
    before = row(run)
    assert take(10) == []
    assert take(10, queues=["default"]) == []
    assert row(run) == before


def test_nothing_there():
    assert take(10) == []
    assert take(10, queues=[]) == []


def test_nothing_wanted(django_assert_num_queries):
    stored()
    with django_assert_num_queries(2):  # the savepoint
        assert take(0) == []


def test_foreign_and_paused_queues_are_left_alone():
    mine, other = stored(queue="mine", priority=9), stored(queue="other")
    assert [run.id for run in take(10, queues=["mine"])] == [mine.pk]
    assert take(10, queues=["mine", "other"], paused=["other"]) == []
    assert take(10, paused=["other"]) == []
    assert [run.id for run in take(10)] == [other.pk]


def test_a_person_pauses_a_queue(notes):
    Queue.objects.create(name="other", is_paused=True)
    Queue.objects.create(name="mine", is_paused=False)
    for queue in ("other", "mine", "third"):
        lifecycle_note.using(queue=queue).enqueue(queue)
    assert workers.paused_queues(connection()) == {"other"}
    assert drain() == 2
    Queue.objects.update(is_paused=False)
    assert drain(queues=["mine", "other"]) == 1
    assert notes == ["mine", "third", "other"]


def test_a_queue_named_twice_counts_once():
    runs = [stored(ready_in=n) for n in range(4)]
    assert [run.id for run in take(3, queues=["default", "default"])] == [run.pk for run in runs[:3]]


def test_what_others_took_in_between_is_replaced_by_the_next_best(monkeypatch):
    """Between the read without locks and the locking of the best ones, another worker takes two and a person cancels
    one: they are passed over, and the claim goes on until it has what it wants."""
    runs = [stored(ready_in=n) for n in range(6)]
    original, raced = claims.best_waiting, []

    def best_waiting(*args):
        found = original(*args)
        if not raced:
            raced.append(found)
            Run.objects.filter(pk__in=[runs[0].pk, runs[2].pk]).update(state="running", worker_id=99, claim_no=5)
            runs[1].cancel()
        return found

    monkeypatch.setattr(claims, "best_waiting", best_waiting)
    assert [run.id for run in take(4, worker=7)] == [run.pk for run in runs[3:]]
    assert [len(found) for found in raced] == [4]
    assert [(fresh(run).worker_id, fresh(run).claim_no) for run in runs[:3]] == [(99, 5), (None, 0), (99, 5)]
    assert fresh(runs[1]).state == "cancelled"


@pytest.mark.parametrize("locked", [{0}, {0, 1}, {1, 3}, {0, 1, 2, 3, 4}, set(range(6)), set()], ids=str)
@pytest.mark.parametrize("limit", [1, 2, 4, 9])
def test_what_others_have_locked_is_passed_over(monkeypatch, locked, limit):
    """It still reads as queued, but SKIP LOCKED leaves it out: the next best are tried until there are no more."""
    runs = [stored(ready_in=n) for n in range(6)]
    locked_ids = {runs[n].pk for n in locked}
    original = claims._take

    def take_what_is_free(connection, run_ids, *args):
        return original(connection, [run_id for run_id in run_ids if run_id not in locked_ids], *args)

    monkeypatch.setattr(claims, "_take", take_what_is_free)
    free = [run.pk for run in runs if run.pk not in locked_ids]
    assert [run.id for run in take(limit)] == free[:limit]
    assert {fresh(runs[n]).state for n in locked} <= {"queued"}


class TestRelease:
    def test_it_keeps_its_place(self, clock):
        runs = [stored(ready_in=n) for n in range(3)]
        before = row(runs[0])
        taken = take_one()
        clock.move(60)
        give_back(taken)
        assert row(runs[0]) == before | {"claim_no": 1}
        assert [run.id for run in take(3)] == [run.pk for run in runs]

    def test_many(self):
        runs = [stored(ready_in=n) for n in range(3)]
        give_back(*take(3))
        assert [fresh(run).state for run in runs] == ["queued"] * 3

    def test_a_stale_one_changes_nothing(self):
        run = stored()
        old = take_one(worker=7)
        give_back(old)
        take_one(worker=7)
        before = row(run)
        give_back(old)
        assert row(run) == before

    @pytest.mark.parametrize("end", [success, failure])
    def test_a_finished_run_is_not_released(self, end):
        run = stored()
        taken = take_one()
        write(end(taken))
        before = row(run)
        give_back(taken)
        assert row(run) == before

    def test_another_workers_run_is_not_released(self):
        run = stored()
        taken = take_one(worker=7)
        taken.worker_id = 8
        before = row(run)
        give_back(taken)
        assert row(run) == before


@pytest.mark.django_db(transaction=True)
def test_several_at_once_take_every_run_once():
    runs = [stored(ready_in=n) for n in range(30)]
    barrier = threading.Barrier(3, timeout=PATIENCE)

    def claim_until_nothing_is_left(worker):
        Run.objects.exists()  # connected before the race
        barrier.wait()
        taken = []
        while found := take(2, worker=worker):
            taken += [run.id for run in found]
        return taken

    threads = [Thread(claim_until_nothing_is_left, worker) for worker in (1, 2, 3)]
    taken = {worker: thread.outcome() for worker, thread in enumerate(threads, 1)}
    assert sorted(run_id for ids in taken.values() for run_id in ids) == [run.pk for run in runs]
    for worker, ids in taken.items():
        assert ids == sorted(ids)  # each one got its own in their order
        assert set(Run.objects.filter(worker_id=worker, claim_no=1).values_list("pk", flat=True)) == set(ids)


def test_owned_by_tells_the_workers_running_runs_in_order():
    runs = [stored(ready_in=-n) for n in range(4)]
    for run in take(4, worker=7)[1:]:
        if run.id == runs[2].pk:
            write(success(run))
    stored(state="running", worker_id=8)
    assert [run.id for run in claims.owned_by(connection(), 7)] == [runs[3].pk, runs[1].pk, runs[0].pk]
    assert claims.owned_by(connection(), 9) == []


def test_the_wait_since_its_enqueue_is_not_the_order(clock):
    """Order is by the key alone; a later enqueue that is due earlier comes first only by its own ready time."""
    late = stored(ready_in=10)
    clock.move(5)
    early = stored()
    assert late.order_key - early.order_key == timedelta(seconds=5) / timedelta(microseconds=1)
    assert [run.id for run in take(2)] == [early.pk, late.pk]
