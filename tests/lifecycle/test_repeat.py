"""Executions that are followed by another one: what the run's row and its history then say."""

from datetime import timedelta

import pytest

from jobs.core.order import STRICT_AGEING, order_key
from jobs.lifecycle.database import connection
from jobs.lifecycle.outcome import Failure
from jobs.lifecycle.promote import promote
from jobs.lifecycle.rescue import interrupt
from jobs.models import Run
from tests.lifecycle.support import (
    clock,
    death,
    failure,
    fresh,
    new_worker,
    retry,
    row,
    snooze,
    stored,
    success,
    take,
    take_one,
    write,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

PAUSE = timedelta(seconds=30)


def repeated(end, *, pause=PAUSE, **columns) -> Run:
    run = stored(**columns)
    assert write(end(take_one(), pause=pause))
    return fresh(run)


@pytest.mark.parametrize(("end", "counter"), [(retry, "failures"), (snooze, "snoozes")])
def test_it_waits_for_its_next_try_and_keeps_all_else(end, counter):
    run = stored(priority=7, queue="side", unique_key="k", unique_hash="h", max_attempts=5, timeout_seconds=9)
    before = row(run)
    taken = take_one(worker=3)
    Run.objects.update(progress_done=1, progress_total=2, progress_message="half", progress_at=clock.now())
    outcome = end(taken, pause=PAUSE)
    assert write(outcome) == [outcome]
    due_at = outcome.ended_at + PAUSE
    assert row(run) == before | {
        "state": "scheduled",
        "reason_code": outcome.reason.value,
        "reason_json": outcome.reason_json,
        "due_at": due_at,
        "ready_at": due_at,
        "order_key": order_key(7, due_at, STRICT_AGEING),
        "claim_no": 1,
        counter: 1,
    }


def test_the_priority_that_somebody_has_given_it_since_counts():
    run = stored(priority=7, effective_priority=-3)
    write(retry(take_one(), pause=PAUSE))
    assert fresh(run).order_key == order_key(-3, fresh(run).ready_at, STRICT_AGEING)


def test_the_attempt_keeps_its_error_its_times_and_its_worker():
    worker = new_worker()
    run = stored()
    taken = take_one(worker=worker.pk)
    outcome = retry(taken, started_at=clock.now() - timedelta(seconds=5))
    outcome.failure = Failure("shop.Busy", "come back", "Traceback …\nshop.Busy: come back")
    write(outcome)
    (attempt,) = run.attempts.all()
    assert (attempt.number, attempt.outcome, attempt.error_class) == (1, "failed", "shop.Busy")
    assert (attempt.message, attempt.traceback) == ("come back", "Traceback …\nshop.Busy: come back")
    assert (attempt.started_at, attempt.ended_at) == (outcome.started_at, outcome.ended_at)
    assert (attempt.worker_id, attempt.worker_name) == (worker.pk, worker.name)


def test_a_snooze_keeps_what_was_said():
    run = repeated(snooze)
    (attempt,) = run.attempts.all()
    assert (attempt.outcome, attempt.error_class, attempt.message) == ("snoozed", "", "not yet")
    assert (run.failures, run.reason) == (0, "It asked to be called again later.")


def test_it_starts_at_its_time_and_stands_in_the_order_by_that(clock):
    run = repeated(retry)
    later = stored(ready_in=40)
    Run.objects.filter(pk=later.pk).update(state="queued")
    assert promote(connection(), clock.now()) == 0
    clock.move(30)
    assert promote(connection(), clock.now()) == 1
    early, late = take(2)
    assert (early.id, late.id) == (run.pk, later.pk)
    assert (early.attempt, early.failures) == (2, 1)


def test_a_mixture_is_counted_apart(clock):
    run = stored(max_attempts=9)
    ends = [retry, snooze, death, snooze, None, retry, death]
    for number, end in enumerate(ends, start=1):
        taken = take_one(worker=new_worker().pk)
        assert taken.attempt == number
        if end is None:
            interrupt(connection(), [taken], clock.now())
        else:
            write(end(taken))
        clock.move(60)
        promote(connection(), clock.now())
    write(success(take_one()))
    run.refresh_from_db()
    assert (run.failures, run.snoozes, run.losses, run.interruptions) == (2, 2, 2, 1)
    assert (run.state, run.executions) == ("succeeded", 8)
    kinds = [attempt.outcome for attempt in run.attempts.order_by("number")]
    assert kinds == ["failed", "snoozed", "lost", "snoozed", "interrupted", "failed", "lost"]


def test_of_many_in_one_transaction_each_has_its_own_end():
    ends = [success, retry, failure, snooze, death]
    runs = [stored(ready_in=-number) for number in range(len(ends))]
    taken = {claimed.id: claimed for claimed in take(len(ends), worker=new_worker().pk)}
    outcomes = [end(taken[run.pk]) for end, run in zip(ends, runs, strict=True)]
    assert write(*outcomes) == outcomes
    assert [fresh(run).state for run in runs] == ["succeeded", "scheduled", "failed", "scheduled", "scheduled"]


class TestAProcessThatEnded:
    @pytest.mark.parametrize(
        ("code", "words"),
        [(0, "exit code 0"), (3, "exit code 3"), (-9, "signal 9 (SIGKILL)"), (-11, "signal 11 (SIGSEGV)"),
         (-99, "signal 99")],
    )  # fmt: skip
    def test_it_is_one_lost_attempt_that_says_how(self, code, words):
        run = stored(max_losses=3)
        write(death(take_one(), code))
        run.refresh_from_db()
        assert (run.state, run.losses, run.failures) == ("scheduled", 1, 0)
        assert run.reason == f"The process of its function ended by itself: {words} (1 of 3 times)."
        (attempt,) = run.attempts.all()
        assert (attempt.outcome, attempt.message) == ("lost", f"Its process ended: {words}.")

    def test_the_last_one_that_it_may_have_is_its_end(self):
        run = stored(max_losses=2, losses=1)
        write(death(take_one()))
        assert (fresh(run).state, fresh(run).reason_code) == ("failed", "process_ended")

    def test_never_to_be_repeated(self):
        run = stored(on_lost="fail")
        write(death(take_one()))
        assert fresh(run).state == "failed"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", [retry, snooze, death])
def test_what_the_database_refuses_keeps_none_of_the_others(refuse, end):
    runs = [stored(), stored()]
    taken = take(2, worker=new_worker().pk)
    refuse(f"NEW.id = {runs[0].pk} AND NEW.state = 'scheduled'")
    write(end(taken[0]), success(taken[1]), one_by_one=True)
    assert [fresh(run).state for run in runs] == ["running", "succeeded"]


def test_a_repetition_is_not_counted_twice():
    run = stored()
    taken = take_one()
    write(retry(taken))
    before = row(run)
    assert write(retry(taken)) == []
    assert row(run) == before
