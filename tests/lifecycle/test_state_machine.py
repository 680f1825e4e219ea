"""The whole life of runs, any steps in any order, on the real database against a model in plain Python."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from jobs.core.order import microseconds
from jobs.core.states import FINAL, UNFINISHED, WAITING, State
from jobs.lifecycle import CancelAnswer, NotFinished
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.promote import promote
from jobs.lifecycle.rescue import interrupt, rescue
from jobs.models import Attempt, Run
from jobs.testing import FakeClock
from tests.lifecycle.model import SECOND, Model
from tests.lifecycle.support import (
    death,
    failure,
    give_back,
    new_worker,
    retry,
    snooze,
    stop,
    success,
    take,
    write,
)
from tests.tasks import lifecycle_note

QUEUES = ["a", "b"]

requests = st.fixed_dictionaries(
    {
        "priority": st.sampled_from([-100, -1, 0, 0, 1, 100]),
        "queue": st.sampled_from(QUEUES),
        "on_lost": st.sampled_from(["requeue", "requeue", "fail"]),
        "max_losses": st.integers(1, 3),
        "unique_key": st.sampled_from([None, None, "k"]),
    }
)
OUTCOMES = {"success": success, "failure": failure, "retry": retry, "snooze": snooze, "stop": stop, "death": death}
enqueues = st.tuples(
    st.just("enqueue"),
    st.fixed_dictionaries(
        {
            "wanted": st.lists(requests, min_size=1, max_size=4),
            "delay": st.sampled_from([None, None, -5, 0, 3, 60]),
        }
    ),
)
claims = st.tuples(
    st.just("claim"),
    st.fixed_dictionaries(
        {
            "who": st.sampled_from([0, 0, 0, 1]),
            "limit": st.integers(1, 6),
            "queues": st.sampled_from([None, None, ["a"], ["b"], ["b", "a"]]),
            "paused": st.sampled_from([[], [], [], ["a"]]),
        }
    ),
)
# One of the things that came last, or one that came long before.
picks = st.integers(0, 3) | st.integers(0, 20)
ends = st.tuples(
    st.just("end"),
    st.fixed_dictionaries(
        {
            "in_time": st.sampled_from([True, True, False]),
            "pick": picks,
            "end": st.sampled_from(
                ["success", "failure", "retry", "retry", "snooze", "stop", "release", "release", "interrupt", "death"]
            ),
            "pause": st.sampled_from([0, 1, 3, 60]),
            "one_by_one": st.booleans(),
        }
    ),
)


class LifeOfRuns(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.atomic = transaction.atomic(using=alias())
        self.atomic.__enter__()
        self.clock = FakeClock().__enter__()
        self.offset = microseconds(self.clock.now())  # from times since the start to times since 1970
        self.models = {}  # by the run's id
        self.claims = []  # every claim there ever was: most writes come too late
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

    def holder_of(self, key):
        """The unfinished run that has this unique key."""
        return next(
            (pk for pk, m in self.models.items() if key and m.unique_key == key and m.state in UNFINISHED), None
        )

    @rule(acts=st.lists(enqueues | claims | ends, min_size=3, max_size=10))
    def work_comes_and_is_done(self, acts):
        """One rule for all that: Hypothesis leaves some rules out of each example, and one without work is dull."""
        for name, how in acts:
            getattr(self, name)(**how)
            self.the_rows_are_as_the_model_says()

    def enqueue(self, wanted, delay):
        for options in wanted:
            holder = self.holder_of(options["unique_key"])
            run_after = None if delay is None else timedelta(seconds=delay)
            run = lifecycle_note.using(run_after=run_after, **options).enqueue("x")
            assert run.is_new == (holder is None)
            if holder is not None:
                assert run.pk == holder
                continue
            due_at = None if delay is None else self.now + delay * SECOND
            ready_at = max(self.now, due_at or self.now)
            state = State.SCHEDULED if ready_at > self.now else State.QUEUED
            self.models[run.pk] = Model(ready_at=ready_at, due_at=due_at, state=state, **options)

    def claim(self, who, limit, queues, paused):
        worker, served = self.workers[who], set(queues or QUEUES) - set(paused)
        ready = [(m.key, pk) for pk, m in self.models.items() if m.state is State.QUEUED and m.queue in served]
        taken = take(limit, worker=worker, queues=queues, paused=paused)
        assert [(run.order_key - self.offset, run.id) for run in taken] == sorted(ready)[:limit]
        for run in taken:
            model = self.models[run.id]
            model.move(State.RUNNING)
            model.claims += 1
            model.claim = worker, model.claims
            assert run.attempt == sum(model.counters.values()) + 1
        self.claims += taken

    def is_owned(self, claim):
        return self.models[claim.id].claim == (claim.worker_id, claim.claim_no)

    def end(self, in_time, pick, **how):
        choice = [claim for claim in self.claims if self.is_owned(claim)] if in_time else self.claims
        if choice:
            self.end_claim(choice[-1 - pick % len(choice)], **how)

    def end_claim(self, claim, end, pause, one_by_one):
        is_owned = self.is_owned(claim)
        if end == "release":
            give_back(claim)
        elif end == "interrupt":
            interrupt(connection(), [claim], self.clock.now())
        else:
            pauses = {"pause": timedelta(seconds=pause)} if end in ("retry", "snooze") else {}
            stored = write(OUTCOMES[end](claim, **pauses), one_by_one=one_by_one)
            assert bool(stored) == is_owned
        if is_owned:
            self.models[claim.id].end(end, self.now, pause * SECOND)

    @precondition(lambda self: self.models)
    @rule(who=st.integers(0, 1))
    def a_worker_dies(self, who):
        dead = self.workers[who]
        self.workers[who] = new_worker().pk
        owned = {pk: m for pk, m in self.models.items() if m.claim and m.claim[0] == dead}
        assert sorted(rescue(connection(), [dead], self.clock.now())) == sorted(owned)
        for model in owned.values():
            model.end("loss", self.now)

    @precondition(lambda self: self.models)
    @rule(pick=picks)
    def cancel(self, pick):
        pk = self.pick_run(pick)
        model = self.models[pk]
        answer = Run.objects.get(pk=pk).cancel()
        if model.state in WAITING:
            assert answer is CancelAnswer.CANCELLED
            model.move(State.CANCELLED)
        elif model.state is State.RUNNING:
            assert answer is CancelAnswer.REQUESTED
            model.is_asked_to_end = True
        else:
            assert answer is CancelAnswer.FINISHED

    def pick_run(self, pick):
        return list(self.models)[-1 - pick % len(self.models)]

    @precondition(lambda self: self.models)
    @rule(pick=picks)
    def run_again(self, pick):
        pk = self.pick_run(pick)
        model = self.models[pk]
        if model.state not in FINAL:
            with pytest.raises(NotFinished):
                Run.objects.get(pk=pk).run_again()
            return
        holder = self.holder_of(model.unique_key)
        again = Run.objects.get(pk=pk).run_again()
        assert again.is_new == (holder is None)
        if holder is not None:
            assert again.pk == holder
        else:
            assert again.rerun_of_id == pk
            self.models[again.pk] = model.again(self.now)

    @precondition(lambda self: self.models)
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
            assert (run.cancel_requested_at is not None) == model.is_asked_to_end
            assert (run.unique_hash is not None) == (model.unique_key is not None and model.state in UNFINISHED)
            if model.state is State.RUNNING:
                assert (run.worker_id, run.claim_no) == model.claim

    def nothing_is_stuck(self):
        """Whatever has happened: time passes, workers work, and every run ends; every bad execution left its trace."""
        for round_ in range(3):
            self.a_worker_dies(round_ % 2)
            self.time_passes(60)
            for claim in take(1000, worker=self.workers[0]):
                write(success(claim))
        assert not Run.objects.exclude(state__in=FINAL).exists()
        for pk, model in self.models.items():
            numbers = [attempt.number for attempt in Attempt.objects.filter(run_id=pk).order_by("number")]
            assert numbers == list(range(1, model.attempts + 1))


@pytest.mark.django_db
def test_any_steps_in_any_order():
    run_state_machine_as_test(
        LifeOfRuns,
        settings=settings(
            max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
