"""A rescue beside faults and races."""

import pytest
from django.db import OperationalError, transaction

from jobs.core import clock as the_clock
from jobs.core.states import State, check_move
from jobs.lifecycle import rescue as rescues
from jobs.lifecycle.database import connection
from jobs.models import Attempt, Run, Worker
from tests.lifecycle.support import (
    failure,
    fresh,
    give_back,
    new_worker,
    row,
    stored,
    success,
    take,
    take_one,
    write,
)

pytestmark = pytest.mark.django_db


def rescued(*dead):
    with transaction.atomic():
        return rescues.rescue(connection(), [worker.pk for worker in dead], the_clock.now())


def test_a_run_that_cannot_be_written_keeps_none_of_the_others(refuse, caplog):
    runs = [stored(ready_in=n, on_lost=("requeue", "fail")[n % 2]) for n in range(4)]
    dead = new_worker()
    take(4, worker=dead.pk)
    refuse(f"NEW.id = {runs[1].pk}")
    before = row(runs[1])
    assert rescued(dead) == [runs[0].pk, runs[2].pk, runs[3].pk]
    assert [fresh(run).state for run in runs] == ["scheduled", "running", "scheduled", "failed"]
    assert row(runs[1]) == before
    assert Attempt.objects.count() == 3
    assert Worker.objects.get().state == "dead"
    assert f"run {runs[1].pk} cannot be taken from its worker {dead.pk}; it is tried again" in caplog.text


def test_it_is_tried_again_at_the_next_look(refuse):
    run = stored()
    dead = new_worker()
    take(1, worker=dead.pk)
    refuse(f"NEW.id = {run.pk}")
    assert rescued(dead) == []
    refuse.end()
    assert rescued() == [run.pk]


def test_an_attempt_that_cannot_be_written_leaves_the_run_as_it_was(refuse):
    run = stored()
    dead = new_worker()
    take(1, worker=dead.pk)
    refuse("TRUE", table="jobs_attempt", event="INSERT")
    before = row(run)
    assert rescued(dead) == []
    assert row(run) == before


def test_an_interrupted_run_that_cannot_be_written_keeps_none_of_the_others(refuse):
    runs = [stored(ready_in=n) for n in range(3)]
    taken = take(3, worker=7)
    refuse(f"NEW.id = {runs[0].pk}")
    rescues.interrupt(connection(), taken, the_clock.now())
    assert [fresh(run).state for run in runs] == ["running", "queued", "queued"]


def test_a_database_that_is_away_is_raised(monkeypatch):
    stored()
    taken = take_one(worker=99)

    def away(*args):
        raise OperationalError("database is locked")

    monkeypatch.setattr(rescues, "_end_without_outcome", away)
    with pytest.raises(OperationalError):
        rescued()
    with pytest.raises(OperationalError):
        rescues.interrupt(connection(), [taken], the_clock.now())


class TestRace:
    """Between the rescue's look at who is orphaned and its write, somebody else moves the run."""

    @pytest.fixture
    def run(self):
        return stored()

    @pytest.fixture
    def taken(self, run):
        return take_one(worker=99)

    def rescue_after(self, monkeypatch, *steps):
        """Rescue, with these steps between the look and the write."""
        original, taken_steps = rescues._orphans, []

        def orphans(connection):
            found = original(connection)
            for step in steps:
                taken_steps.append(step())
            assert found
            return found

        monkeypatch.setattr(rescues, "_orphans", orphans)
        rescued_ids = rescued()
        assert len(taken_steps) == len(steps)
        return rescued_ids

    @pytest.mark.parametrize(
        ("end", "state", "attempts"), [(success, "succeeded", []), (failure, "failed", ["failed"])]
    )
    def test_a_finish_came_first(self, monkeypatch, run, taken, end, state, attempts):
        assert self.rescue_after(monkeypatch, lambda: write(end(taken))) == []
        assert (fresh(run).state, fresh(run).losses) == (state, 0)
        assert list(Attempt.objects.values_list("outcome", flat=True)) == attempts

    def test_another_rescue_came_first(self, monkeypatch, run, taken):
        assert self.rescue_after(monkeypatch, lambda: rescues.interrupt(connection(), [taken], the_clock.now())) == []
        assert (fresh(run).state, fresh(run).losses, fresh(run).interruptions) == ("queued", 0, 1)
        assert Attempt.objects.count() == 1

    def test_the_same_worker_claimed_it_again(self, monkeypatch, run, taken):
        assert self.rescue_after(monkeypatch, lambda: give_back(taken), lambda: take_one(worker=99)) == []
        assert (fresh(run).state, fresh(run).claim_no, fresh(run).losses) == ("running", 2, 0)
        assert not Attempt.objects.exists()

    def test_another_worker_claimed_it(self, monkeypatch, run, taken):
        assert self.rescue_after(monkeypatch, lambda: give_back(taken), lambda: take_one(worker=100)) == []
        assert (fresh(run).state, fresh(run).worker_id, fresh(run).losses) == ("running", 100, 0)

    def test_the_row_names_another_worker(self, monkeypatch, run, taken):
        """The owner is the worker and the number of its claim, both."""
        assert self.rescue_after(monkeypatch, lambda: Run.objects.update(worker_id=100)) == []
        assert (fresh(run).state, fresh(run).worker_id, fresh(run).losses) == ("running", 100, 0)

    def test_the_row_was_deleted(self, monkeypatch, run, taken):
        assert self.rescue_after(monkeypatch, lambda: Run.objects.all().delete()) == []
        assert not Attempt.objects.exists()

    def test_the_finish_comes_after(self, run, taken):
        assert rescued() == [run.pk]
        before = row(run)
        assert write(success(taken, result_json="1")) == []
        assert row(run) == before

    def test_an_interruption_after_a_finish(self, monkeypatch, run, taken):
        original = rescues._alone

        def alone(*args):
            write(success(taken))
            return original(*args)

        monkeypatch.setattr(rescues, "_alone", alone)
        rescues.interrupt(connection(), [taken], the_clock.now())
        assert (fresh(run).state, fresh(run).interruptions) == ("succeeded", 0)
        assert not Attempt.objects.exists()


@pytest.mark.parametrize("on_lost", ["requeue", "fail"])
@pytest.mark.parametrize("outcome", [Attempt.Outcome.LOST, Attempt.Outcome.INTERRUPTED])
@pytest.mark.parametrize("so_far", [0, 1, 2, 4, 999])
def test_whatever_becomes_of_a_run_is_an_allowed_move(on_lost, outcome, so_far):
    run = Run(on_lost=on_lost, losses=so_far, interruptions=so_far, max_losses=3, max_interruptions=5)
    changes = rescues.changes_after(run, outcome, the_clock.now())
    assert check_move(State.RUNNING, State(changes["state"])) is None
    assert ("finished_at" in changes) == (changes["state"] == "failed")
