"""The whole life of runs, any steps in any order, on the real database against a model in plain Python."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test

from jobs.core.order import microseconds
from jobs.core.states import FINAL, UNFINISHED, WAITING, State
from jobs.lifecycle import CancelAnswer, NotFinished
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.promote import promote
from jobs.lifecycle.rescue import interrupt, rescue
from jobs.models import Attempt, Run
from jobs.testing import FakeClock
from tests.lifecycle.model import SECOND, Model
from tests.lifecycle.support import failure, give_back, new_worker, success, take, write
from tests.tasks import lifecycle_note

QUEUES = ["a", "b"]


class LifeOfRuns(RuleBasedStateMachine):
    runs = Bundle("runs")
    claims = Bundle("claims")  # every claim there ever was, so that most writes come too late

    def __init__(self):
        super().__init__()
        self.atomic = transaction.atomic(using=alias())
        self.atomic.__enter__()
        self.clock = FakeClock().__enter__()
        self.offset = microseconds(self.clock.now())  # from times since the start to times since 1970
        self.models = {}
        self.workers = [new_worker().pk, new_worker().pk]

    def teardown(self):
        try:
            self.nothing_is_stuck()
        finally:
            self.clock.__exit__()
            transaction.set_rollback(True, using=alias())
            self.atomic.__exit__(None, None, None)

    @property
    def now(self):
        return microseconds(self.clock.now()) - self.offset

    def add(self, run, model):
        self.models[run.pk] = model
        return run.pk

    @rule(
        target=runs,
        priority=st.sampled_from([-100, -1, 0, 0, 1, 100]),
        queue=st.sampled_from(QUEUES),
        delay=st.sampled_from([None, None, -5, 0, 3, 60]),
        on_lost=st.sampled_from(["requeue", "requeue", "fail"]),
        max_losses=st.integers(1, 3),
        unique_key=st.sampled_from([None, None, "k"]),
    )
    def enqueue(self, priority, queue, delay, on_lost, max_losses, unique_key):
        options = {"priority": priority, "queue": queue, "on_lost": on_lost, "max_losses": max_losses}
        run_after = None if delay is None else timedelta(seconds=delay)
        run = lifecycle_note.using(run_after=run_after, unique_key=unique_key, **options).enqueue("x")
        holders = [
            pk for pk, m in self.models.items() if m.unique_key and m.unique_key == unique_key and m.state in UNFINISHED
        ]
        assert run.is_new == (not holders)
        if holders:
            assert [run.pk] == holders
            return run.pk
        due_at = None if delay is None else self.now + delay * SECOND
        ready_at = max(self.now, due_at or self.now)
        state = State.SCHEDULED if ready_at > self.now else State.QUEUED
        return self.add(run, Model(ready_at=ready_at, due_at=due_at, state=state, unique_key=unique_key, **options))

    @rule(
        target=claims,
        who=st.integers(0, 1),
        limit=st.integers(1, 3),
        queues=st.sampled_from([None, None, ["a"], ["b"], ["b", "a"]]),
        paused=st.sampled_from([[], [], ["a"]]),
    )
    def claim(self, who, limit, queues, paused):
        worker = self.workers[who]
        served = set(queues or QUEUES) - set(paused)
        ready = [(m.key, pk) for pk, m in self.models.items() if m.state is State.QUEUED and m.queue in served]
        taken = take(limit, worker=worker, queues=queues, paused=paused)
        assert [(run.order_key - self.offset, run.id) for run in taken] == sorted(ready)[:limit]
        for run in taken:
            model = self.models[run.id]
            model.move(State.RUNNING)
            model.claims += 1
            model.claim = worker, model.claims
            assert run.attempt == sum(model.counters.values()) + 1
        return multiple(*taken)

    def owner_of(self, claim):
        """The model of the run, if this claim still owns it."""
        model = self.models[claim.id]
        return model if model.claim == (claim.worker_id, claim.claim_no) else None

    @rule(claim=claims, end=st.sampled_from([success, failure]), one_by_one=st.booleans())
    def finish(self, claim, end, one_by_one):
        stored = write(end(claim), one_by_one=one_by_one)
        model = self.owner_of(claim)
        assert bool(stored) == bool(model)
        if model:
            model.move(State.SUCCEEDED if end is success else State.FAILED)
            model.counters["failures"] += end is failure

    @rule(claim=claims)
    def release(self, claim):
        give_back(claim)
        if model := self.owner_of(claim):
            model.move(State.QUEUED)

    @rule(claim=claims)
    def interrupt(self, claim):
        interrupt(connection(), [claim], self.clock.now())
        if model := self.owner_of(claim):
            model.end_without_outcome("interruptions", 5, self.now, pause=0)

    @rule(who=st.integers(0, 1))
    def worker_dies(self, who):
        dead = self.workers[who]
        self.workers[who] = new_worker().pk
        owned = {pk: m for pk, m in self.models.items() if m.claim and m.claim[0] == dead}
        assert sorted(rescue(connection(), [dead], self.clock.now())) == sorted(owned)
        for model in owned.values():
            model.end_without_outcome("losses", model.max_losses, self.now, pause=2 ** model.counters["losses"])

    @rule(pk=runs)
    def cancel(self, pk):
        model = self.models[pk]
        answer = Run.objects.get(pk=pk).cancel()
        if model.state in WAITING:
            assert answer is CancelAnswer.CANCELLED
            model.move(State.CANCELLED)
        else:
            assert answer is (CancelAnswer.FINISHED if model.state in FINAL else CancelAnswer.RUNNING)

    @rule(target=runs, pk=runs)
    def run_again(self, pk):
        model = self.models[pk]
        if model.state not in FINAL:
            with pytest.raises(NotFinished):
                Run.objects.get(pk=pk).run_again()
            return pk
        again = Run.objects.get(pk=pk).run_again()
        if not again.is_new:
            assert self.models[again.pk].unique_key == model.unique_key
            assert self.models[again.pk].state in UNFINISHED
            return again.pk
        assert again.rerun_of_id == pk
        options = {name: getattr(model, name) for name in ("priority", "queue", "on_lost", "max_losses", "unique_key")}
        return self.add(again, Model(ready_at=self.now, due_at=None, state=State.QUEUED, **options))

    @rule(seconds=st.sampled_from([0, 1, 3, 60]))
    def time_passes(self, seconds):
        self.clock.move(seconds)
        due = [m for m in self.models.values() if m.state is State.SCHEDULED and m.due_at <= self.now]
        assert promote(connection(), self.clock.now()) == len(due)
        for model in due:
            model.move(State.QUEUED)

    @invariant()
    def the_rows_are_as_the_model_says(self):
        rows = {run.pk: run for run in Run.objects.defer("arguments_json")}
        assert set(rows) == set(self.models)
        for pk, model in self.models.items():
            run = rows[pk]
            assert (run.state, run.claim_no, run.order_key) == (model.state, model.claims, model.key + self.offset)
            assert {name: getattr(run, name) for name in model.counters} == model.counters
            assert (run.finished_at is not None) == (model.state in FINAL)
            assert (run.unique_hash is not None) == (model.unique_key is not None and model.state in UNFINISHED)
            if model.state is State.RUNNING:
                assert (run.worker_id, run.claim_no) == model.claim

    def nothing_is_stuck(self):
        """Whatever has happened: time passes, workers work, and every run ends; every bad execution left its trace."""
        for round_ in range(10):
            self.worker_dies(round_ % 2)
            self.time_passes(60)
            for claim in take(1000, worker=self.workers[0]):
                write(success(claim))
        assert not Run.objects.exclude(state__in=FINAL).exists()
        for run in Run.objects.all():
            assert Attempt.objects.filter(run=run).count() == run.failures + run.losses + run.interruptions


@pytest.mark.django_db
def test_any_steps_in_any_order():
    run_state_machine_as_test(
        LifeOfRuns,
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
