"""A cycle that fails loses nothing and writes nothing twice."""

from contextlib import contextmanager

import pytest
from django.db import DatabaseError, OperationalError, transaction

from jobs.lifecycle.finish import finish
from jobs.models import Attempt, Run, RunLog
from tests.runtime.support import states

pytestmark = pytest.mark.django_db


@pytest.fixture
def fail_once(monkeypatch):
    """Have the next writing of outcomes fail, before or after its statements; later ones work."""

    def fail_once(when):
        def failing(*args, **kwargs):
            monkeypatch.undo()
            if when == "after":
                finish(*args, **kwargs)
            raise OperationalError("gone away")

        monkeypatch.setattr("jobs.runtime.dispatcher.finish", failing)

    return fail_once


@pytest.fixture
def lose_answer(monkeypatch):
    """Have the next cycle's commit happen, but its answer be lost."""

    def lose_answer():
        atomic = transaction.atomic

        @contextmanager
        def committing_without_answer(**options):
            monkeypatch.undo()
            with atomic(**options):
                yield
            raise OperationalError("gone away")

        monkeypatch.setattr(transaction, "atomic", committing_without_answer)

    return lose_answer


def with_outcomes(by_hand, ok):
    """A dispatcher with a success and a failure to write, and a third run waiting in the database."""
    runs = ok.enqueue_many([{}] * 3)
    dispatcher = by_hand(threads=2)
    dispatcher.cycle()
    dispatcher.executor.run_one(result="1", seconds=1.0)
    dispatcher.executor.run_one(error="no", seconds=1.0)
    return dispatcher, runs


@pytest.mark.parametrize("when", ["before", "after"])
def test_outcomes_are_kept_until_they_are_written(by_hand, ok, clock, fail_once, when):
    dispatcher, runs = with_outcomes(by_hand, ok)
    fail_once(when)
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    assert states(runs) == ["running", "running", "queued"]
    assert dispatcher.hold.is_busy
    dispatcher.cycle()
    assert states(runs) == ["succeeded", "failed", "running"]
    assert dispatcher.executor.waiting_ids == [runs[2].pk]  # those that have ended are not executed again
    runs[1].refresh_from_db()
    assert (runs[1].failures, Attempt.objects.count()) == (1, 1)


def test_a_second_failure_in_a_row_keeps_them_as_well(by_hand, ok, clock, fail_once):
    dispatcher, runs = with_outcomes(by_hand, ok)
    for when in ("after", "before", "after"):
        fail_once(when)
        with pytest.raises(OperationalError):
            dispatcher.cycle()
    dispatcher.cycle()
    assert states(runs) == ["succeeded", "failed", "running"]
    assert Attempt.objects.count() == 1


def test_outcomes_that_come_in_meanwhile_are_written_too(by_hand, ok, clock, fail_once):
    runs = ok.enqueue_many([{}] * 2)
    dispatcher = by_hand(threads=2)
    dispatcher.cycle()
    dispatcher.executor.run_one(seconds=1.0)
    fail_once("before")
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    dispatcher.executor.run_one(seconds=1.0)
    dispatcher.cycle()
    assert states(runs) == ["succeeded"] * 2


def test_what_was_stored_although_the_answer_was_lost_is_not_stored_again(by_hand, ok, clock, lose_answer, caplog):
    dispatcher, runs = with_outcomes(by_hand, ok)
    lose_answer()
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    assert states(runs) == ["succeeded", "failed", "running"]  # it was committed
    dispatcher.cycle()
    assert states(runs) == ["succeeded", "failed", "running"]
    assert Attempt.objects.count() == 1
    assert caplog.text == ""  # and nobody says that an outcome was lost


def test_a_claim_whose_answer_was_lost_is_executed_once(by_hand, ok, clock, lose_answer):
    dispatcher, runs = with_outcomes(by_hand, ok)
    lose_answer()
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    assert dispatcher.executor.waiting == []  # memory does not know it
    dispatcher.cycle()
    assert dispatcher.executor.waiting_ids == [runs[2].pk]
    dispatcher.cycle()
    assert dispatcher.executor.waiting_ids == [runs[2].pk]
    dispatcher.executor.run_one(seconds=1.0)
    dispatcher.cycle()
    runs[2].refresh_from_db()
    assert (runs[2].state, runs[2].claim_no) == ("succeeded", 1)


def test_such_a_claim_is_found_although_there_is_nothing_else_to_do(by_hand, ok, clock, lose_answer):
    dispatcher = by_hand()
    dispatcher.cycle()
    run = ok.enqueue()
    lose_answer()
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    assert dispatcher.cycle() is True
    assert dispatcher.executor.waiting_ids == [run.pk]


def test_a_run_that_works_during_the_failure_is_neither_lost_nor_handed_out_twice(by_hand, ok, clock, lose_answer):
    runs = ok.enqueue_many([{}] * 2)
    dispatcher = by_hand(threads=2)
    dispatcher.cycle()
    working = dispatcher.executor.begin()
    dispatcher.executor.run_one(seconds=1.0)
    lose_answer()
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    dispatcher.cycle()
    assert dispatcher.executor.waiting == []
    dispatcher.executor.end(working, seconds=1.0)
    dispatcher.cycle()
    assert states(runs) == ["succeeded"] * 2


def test_a_release_whose_answer_was_lost_is_no_claim(by_hand, ok, clock, lose_answer):
    """Released and committed; then it must not come back from memory."""
    run = ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    dispatcher.request_stop(100)
    lose_answer()
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    assert states([run]) == ["queued"]
    dispatcher.cycle()
    assert states([run]) == ["queued"]
    assert dispatcher.is_done


def test_a_failure_writes_no_log_twice(by_hand, ok, clock, fail_once):
    run = ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    context = dispatcher.executor.begin()
    context.log.write("one")
    dispatcher.executor.end(context, seconds=1.0)
    fail_once("after")
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    dispatcher.cycle()
    assert list(RunLog.objects.filter(run=run).values_list("text", flat=True)) == ["one\n"]


@pytest.fixture
def refused_result(refuse):
    """The database refuses to store the result "bad" (as it may refuse any value)."""
    refuse("NEW.result_json = '\"bad\"'")


class TestRefusedByTheDatabase:
    def test_one_bad_outcome_is_stored_without_its_result_and_stops_no_other(self, by_hand, ok, clock, refused_result):
        runs = ok.enqueue_many([{}] * 3)
        dispatcher = by_hand(threads=3)
        dispatcher.cycle()
        for result in ("1", '"bad"', "3"):
            dispatcher.executor.run_one(result=result, seconds=1.0)
        with pytest.raises(DatabaseError) as refused:
            dispatcher.cycle()
        assert states(runs) == ["running"] * 3
        dispatcher.write_one_by_one()  # as the loop does
        dispatcher.cycle()
        assert states(runs) == ["succeeded"] * 3
        assert [Run.objects.get(pk=run.pk).result for run in runs] == [1, None, 3]
        runs[1].refresh_from_db()
        assert runs[1].reason_code == "result_not_stored"
        assert type(refused.value).__name__ in runs[1].reason

    def test_after_that_outcomes_go_out_together_again(self, by_hand, ok, clock, refused_result, monkeypatch):
        ways = []

        def noting(*args, one_by_one):
            ways.append(one_by_one)
            return finish(*args, one_by_one=one_by_one)

        monkeypatch.setattr("jobs.runtime.dispatcher.finish", noting)
        ok.enqueue_many([{}] * 2)
        dispatcher = by_hand(threads=1)
        dispatcher.cycle()
        dispatcher.executor.run_one(seconds=1.0)
        dispatcher.write_one_by_one()
        dispatcher.cycle()
        dispatcher.executor.run_one(seconds=1.0)
        dispatcher.cycle()
        assert ways[-2:] == [True, False]

    @pytest.mark.django_db(transaction=True)
    def test_the_scheduler_does_this_by_itself(self, start, task, refused_result, caplog):
        @task
        def give(value: str) -> str:
            return value

        runs = [give.enqueue(value) for value in ("a", "bad", "b")]
        start(threads=1)
        for run in runs:
            run.wait(20)
        assert [(run.state, run.result) for run in runs] == [("succeeded", each) for each in ("a", None, "b")]
        assert runs[1].reason_code == "result_not_stored"
