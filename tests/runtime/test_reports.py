"""What a function logs or tells may hold what a database refuses: that is its own problem and nobody else's."""

import logging
from contextlib import contextmanager

import pytest
from django.db import DatabaseError, OperationalError, transaction

import jobs
from jobs.models import Run, RunLog
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

logger = logging.getLogger("tests.runtime.reports")


def say(text):
    return lambda: logger.warning("before %s after", text)


def tell(*args, **kwargs):
    return lambda: jobs.current_run().progress(*args, **kwargs)


CASES = {
    "a lone surrogate in the log": say("\ud800"),
    "a lone surrogate in the progress": tell(1, message="\ud800"),
    "more than an integer column holds": tell(10**30),
    "more than a float holds": tell(10**400),
    "a total beyond all": tell(1, total=10**30),
    "NUL in the log": say("\x00"),
    "NUL in the progress": tell(1, message="a\x00b"),
    "a long message": tell(1, message="x" * 10_000),
    "a long message of bees": tell(1, message="🐝" * 10_000),
}


def log_of(run) -> str:
    return "".join(RunLog.objects.filter(run=run).order_by("pk").values_list("text", flat=True))


@pytest.mark.parametrize("body", CASES.values(), ids=CASES)
def test_the_run_ends_and_so_do_the_others(start, task, ok, body):
    @task
    def odd():
        body()

    runs = [odd.enqueue(), ok.enqueue()]
    start(threads=1)
    for run in runs:
        run.wait(PATIENCE)
    assert runs[1].state == "succeeded"
    assert runs[0].state == ("failed" if body is CASES["more than a float holds"] else "succeeded")
    assert len(runs[0].progress_message) <= 200  # the column's length: SQLite alone would take more
    for text in (runs[0].progress_message, log_of(runs[0])):
        assert "\x00" not in text  # PostgreSQL would refuse it


def test_what_is_refused_is_shown_as_escapes(start, task):
    @task
    def odd():
        logger.warning("a\x00b\ud800c")
        jobs.current_run().progress(1, message="a\x00b\ud800c")

    run = odd.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert "a\\x00b\\ud800c\n" in log_of(run)
    assert run.progress_message == "a\\x00b\\ud800c"


def test_news_that_the_database_refuses_stop_no_outcome(refuse, start, task, ok):
    @task
    def odd():
        jobs.current_run().progress(1)
        logger.warning("refuse me")

    @task
    def even():
        logger.warning("take me")

    refuse("NEW.text LIKE '%refuse me%'", table="jobs_runlog", event="INSERT")
    runs = [odd.enqueue(), even.enqueue()]
    start(threads=2)
    for run in runs:
        run.wait(PATIENCE)
    assert [run.state for run in runs] == ["succeeded"] * 2
    assert "take me" in log_of(runs[1])


def test_news_that_were_stored_although_the_answer_was_lost_are_not_stored_again(by_hand, ok, clock, monkeypatch):
    run = ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    context = dispatcher.executor.begin()
    context.log.write("one")
    atomic = transaction.atomic

    @contextmanager
    def committing_without_answer(**options):
        monkeypatch.undo()
        with atomic(**options):
            yield
        raise OperationalError("gone away")

    monkeypatch.setattr(transaction, "atomic", committing_without_answer)
    clock.move(1)
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    context.log.write("two")
    context.progress(2)
    clock.move(1)
    dispatcher.cycle()
    assert log_of(run) == "one\ntwo\n"
    assert Run.objects.get(pk=run.pk).progress_done == 2


def test_an_end_that_cannot_be_stored_at_all_is_not_executed_again(refuse, by_hand, ok, clock, monkeypatch):
    """The database refuses every end of this run; then a commit's answer is lost, and its claim is found again."""
    run = ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    dispatcher.executor.run_one(seconds=1.0)
    refuse(f"NEW.id = {run.pk}")
    with pytest.raises(DatabaseError):
        dispatcher.cycle()
    dispatcher.write_one_by_one()
    dispatcher.cycle()
    clock.move(10)
    monkeypatch.setattr("jobs.runtime.agenda.next_moment", failing)
    with pytest.raises(OperationalError):
        dispatcher.cycle()
    monkeypatch.undo()
    dispatcher.cycle()
    run.refresh_from_db()
    assert (run.state, dispatcher.executor.waiting) == ("running", [])


def failing(*args):
    raise OperationalError("gone away")


def test_a_log_is_written_once_a_second_however_much_there_is(by_hand, ok, clock):
    """And once at the end."""
    run = ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    context = dispatcher.executor.begin()
    for _ in range(100):  # ten seconds
        for _ in range(20):
            context.log.write_text("a print\n")
        dispatcher.cycle()
        clock.move(0.1)
    dispatcher.executor.end(context)
    dispatcher.cycle()
    assert RunLog.objects.filter(run=run).count() <= 12
    assert log_of(run) == "a print\n" * 2000
