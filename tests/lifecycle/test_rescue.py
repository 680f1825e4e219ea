"""The runs of dead workers, and of workers that had to stop."""

from datetime import timedelta

import pytest

from jobs.core import clock as the_clock
from jobs.lifecycle.database import connection
from jobs.lifecycle.promote import promote
from jobs.lifecycle.rescue import interrupt, rescue
from jobs.models import Attempt, Worker
from jobs.testing import drain
from tests.lifecycle.support import failure, fresh, new_worker, row, stored, success, take, take_one, write
from tests.tasks import lifecycle_note

pytestmark = pytest.mark.django_db


def rescued(*dead):
    return rescue(connection(), [worker.pk for worker in dead], the_clock.now())


def lose(run, clock):
    """Let a new worker take the run and die, and make the run ready again if it may be repeated."""
    worker = new_worker()
    (taken,) = take(1, worker=worker.pk)
    assert taken.id == run.pk
    assert rescued(worker) == [run.pk]
    clock.move(61)
    promote(connection(), clock.now())


def test_requeue(clock):
    run = stored(unique_hash="h")
    worker = new_worker()
    take(1, worker=worker.pk)
    started_at = clock.now()
    clock.move(30)
    before = row(run)
    assert rescued(worker) == [run.pk]
    assert row(run) == before | {
        "state": "scheduled",
        "due_at": clock.now() + timedelta(seconds=1),
        "started_at": None,
        "worker_id": None,
        "losses": 1,
        "reason_code": "worker_lost",
        "reason_json": '{"count": 1, "most": 3}',
    }
    attempt = Attempt.objects.get()
    assert (attempt.run_id, attempt.number, attempt.outcome) == (run.pk, 1, "lost")
    assert (attempt.worker_id, attempt.worker_name) == (worker.pk, worker.name)
    assert (attempt.started_at, attempt.ended_at) == (started_at, clock.now())


def test_fail(clock):
    run = stored(on_lost="fail", unique_hash="h")
    worker = new_worker()
    take(1, worker=worker.pk)
    clock.move(30)
    before = row(run)
    assert rescued(worker) == [run.pk]
    assert row(run) == before | {
        "state": "failed",
        "finished_at": clock.now(),
        "losses": 1,
        "reason_code": "worker_lost",
        "reason_json": '{"count": 1, "most": 1}',
        "unique_hash": None,
    }
    assert row(run)["worker_id"] == worker.pk  # history keeps who had it last
    assert Attempt.objects.get().outcome == "lost"
    assert "1 of 1 times" in fresh(run).reason


def test_the_dead_are_marked(clock):
    dead, alive = new_worker(), new_worker()
    clock.move(5)
    assert rescued(dead) == []
    dead.refresh_from_db()
    alive.refresh_from_db()
    assert (dead.state, dead.stopped_at) == ("dead", clock.now())
    assert (alive.state, alive.stopped_at) == ("alive", None)


@pytest.mark.parametrize(("max_losses", "states"), [(1, "f"), (2, "sf"), (3, "ssf")])
def test_max_losses_is_the_number_of_executions(clock, max_losses, states):
    run = stored(max_losses=max_losses)
    for number, state in enumerate(states, 1):
        lose(run, clock)
        assert fresh(run).losses == number
        assert fresh(run).state == {"s": "queued", "f": "failed"}[state]
    assert take(1) == []
    assert fresh(run).claim_no == max_losses
    assert list(Attempt.objects.order_by("id").values_list("number", "outcome")) == [
        (number, "lost") for number in range(1, max_losses + 1)
    ]


def test_the_pause_grows_with_each_loss(clock):
    run = stored(max_losses=100)
    pauses = []
    for _ in range(9):
        assert len(take(1, worker=99)) == 1
        rescued()
        pauses.append((fresh(run).due_at - clock.now()).total_seconds())
        clock.move(pauses[-1])
        assert promote(connection(), clock.now()) == 1
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_it_keeps_its_place_in_the_order(clock):
    run, later = stored(), stored(ready_in=1)
    key = run.order_key
    lose(run, clock)
    assert fresh(run).order_key == key
    assert [each.id for each in take(2)] == [run.pk, later.pk]


def test_losses_are_counted_apart_from_other_ends(clock):
    run = stored(failures=5, interruptions=4, snoozes=3, max_losses=2)
    lose(run, clock)
    assert (fresh(run).state, fresh(run).losses, fresh(run).attempt) == ("queued", 1, 14)
    assert Attempt.objects.get().number == 13


def test_a_rescued_run_is_executed_again(clock, notes):
    run = lifecycle_note.enqueue("again")
    lose(run, clock)
    assert drain() == 1
    assert notes == ["again"]
    assert (fresh(run).state, fresh(run).claim_no, fresh(run).attempt, fresh(run).reason_code) == (
        "succeeded",
        2,
        2,
        "",
    )


def test_only_running_runs_of_the_dead_are_taken():
    runs = [stored(ready_in=n) for n in range(5)]
    dead, alive = new_worker(), new_worker()
    mine = take(3, worker=dead.pk)
    write(success(mine[0]), failure(mine[1]))
    take(1, worker=alive.pk)
    before = [row(run) for run in runs]
    assert rescued(dead) == [runs[2].pk]
    assert [row(run) == old for run, old in zip(runs, before, strict=True)] == [True, True, False, True, True]
    assert rescued(dead) == []


@pytest.mark.parametrize("state", ["stopped", "dead", "gone"])
def test_a_worker_that_is_not_there_is_dead(state):
    run = stored()
    worker = new_worker()
    take(1, worker=worker.pk)
    if state == "gone":
        Worker.objects.all().delete()
    else:
        Worker.objects.update(state=state)
    assert rescued() == [run.pk]
    assert Attempt.objects.get().worker_name == ("" if state == "gone" else worker.name)


def test_running_without_any_worker():
    run = stored(state="running")
    assert rescued() == [run.pk]
    assert fresh(run).state == "scheduled"


@pytest.mark.parametrize("state", ["alive", "stopping"])
def test_a_worker_that_is_there_keeps_its_runs(state):
    run = stored()
    worker = new_worker()
    take(1, worker=worker.pk)
    Worker.objects.update(state=state)
    before = row(run)
    assert rescued() == []
    assert row(run) == before


class TestInterrupt:
    def test_requeue(self, clock):
        run = stored()
        taken = take_one(worker=7)
        clock.move(5)
        before = row(run)
        interrupt(connection(), [taken], clock.now())
        assert row(run) == before | {
            "state": "queued",
            "started_at": None,
            "worker_id": None,
            "interruptions": 1,
            "reason_code": "interrupted",
            "reason_json": '{"count": 1, "most": 5}',
        }
        assert Attempt.objects.get().outcome == "interrupted"

    def test_fail(self, clock):
        run = stored(on_lost="fail", unique_hash="h")
        interrupt(connection(), [take_one(worker=7)], clock.now())
        assert (fresh(run).state, fresh(run).interruptions, fresh(run).unique_hash) == ("failed", 1, None)
        assert (fresh(run).finished_at, fresh(run).worker_id) == (clock.now(), 7)

    def test_five_times_at_most(self, clock):
        run = stored(losses=2)
        for number in range(1, 6):
            interrupt(connection(), [take_one()], clock.now())
            assert (fresh(run).interruptions, fresh(run).losses) == (number, 2)
            assert fresh(run).state == ("queued" if number < 5 else "failed")
        assert Attempt.objects.count() == 5

    def test_none(self, django_assert_num_queries, clock):
        with django_assert_num_queries(0):
            interrupt(connection(), [], clock.now())
