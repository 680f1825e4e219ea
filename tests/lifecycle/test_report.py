"""Progress and log of running functions. That both are fenced is told in test_fence."""

import pytest
from django.db import DatabaseError, OperationalError

import jobs
from jobs.lifecycle import report as reporting
from jobs.lifecycle.database import connection
from jobs.lifecycle.report import MESSAGE_LENGTH, Report, write_reports
from jobs.models import RunLog
from jobs.registry import registry
from jobs.testing import drain
from tests.lifecycle.support import clock as the_clock
from tests.lifecycle.support import fresh, give_back, row, stored, take, take_one
from tests.tasks import lifecycle_note

pytestmark = pytest.mark.django_db


def report(*reports, **how):
    write_reports(connection(), reports, the_clock.now(), **how)


def told(run):
    stands = fresh(run)
    return stands.progress_done, stands.progress_total, stands.progress_message, stands.progress_at


def logs():
    return list(RunLog.objects.order_by("id").values_list("run_id", "attempt", "number", "text"))


def test_progress(clock):
    run = stored()
    taken = take_one()
    before = row(run)
    clock.move(3)
    report(Report(taken, 1, (2, 5.5, "half of it")))
    assert told(run) == (2.0, 5.5, "half of it", clock.now())
    changed = {"progress_done", "progress_total", "progress_message", "progress_at"}
    assert {key for key, value in row(run).items() if value != before[key]} == changed
    report(Report(taken, 2, (3.5, None, "")))
    assert told(run) == (3.5, None, "", clock.now())
    assert logs() == []


def test_log(clock):
    run = stored(failures=1)
    taken = take_one()
    report(Report(taken, 1, None, "a\nb\n"))
    clock.move(1)
    report(Report(taken, 2, None, "c\n"))
    assert logs() == [(run.pk, 2, 1, "a\nb\n"), (run.pk, 2, 2, "c\n")]
    assert RunLog.objects.last().written_at == clock.now()
    assert told(run) == (None, None, "", None)


def test_one_that_is_lost_keeps_none_of_the_others():
    runs = [stored(ready_in=n) for n in range(3)]
    taken = take(3)
    give_back(taken[1])
    report(*(Report(each, 1, (1, 2, "x"), "line\n") for each in taken))
    assert [fresh(run).progress_done for run in runs] == [1, None, 1]
    assert [log[0] for log in logs()] == [runs[0].pk, runs[2].pk]


def test_no_news_no_statement(django_assert_num_queries):
    with django_assert_num_queries(0):
        report()


def test_the_number_of_statements(django_assert_num_queries):
    for n in range(3):
        stored(ready_in=n)
    taken = take(3)
    with django_assert_num_queries(1 + 3 + 3):
        report(*(Report(each, 1, (1, 2, "x"), "line\n") for each in taken))


class TestOddTexts:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [("a\ud800b", "a\\ud800b"), ("a\x00b", "a\\x00b"), ("🐝é", "🐝é"), ("\udfff\x00", "\\udfff\\x00")],
    )
    def test_what_a_database_refuses_is_shown_as_an_escape(self, text, shown):
        run = stored()
        report(Report(take_one(), 1, (1, None, text), f"{text}\n"))
        assert told(run)[2] == shown
        assert logs()[0][3] == f"{shown}\n"

    @pytest.mark.parametrize("length", [MESSAGE_LENGTH, MESSAGE_LENGTH + 1, 10**6])
    def test_a_long_message_is_cut(self, length):
        run = stored()
        report(Report(take_one(), 1, (1, None, "x" * length)))
        message = told(run)[2]
        assert len(message) == MESSAGE_LENGTH
        assert message.endswith("…" if length > MESSAGE_LENGTH else "x")


def test_a_function_may_tell_a_number_beyond_64_bits(monkeypatch, notes):
    """It ends in a column for doubles, and the worker goes on."""

    def func():
        jobs.current_run().progress(2**63, total=2**64)

    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    run = jobs.register(name="tests.told")(func).enqueue()
    lifecycle_note.enqueue("after it")
    assert drain() == 2
    assert fresh(run).state == "succeeded"
    assert notes == ["after it"]


class TestReplay:
    """After a commit whose answer was lost the same reports come again."""

    def test_a_piece_of_the_log_is_stored_once(self):
        runs = [stored(ready_in=n) for n in range(2)]
        first, second = take(2)
        stored_before = Report(first, 1, (1, 2, "x"), "one\n")
        report(stored_before)
        report(stored_before, Report(first, 2, None, "two\n"), Report(second, 1, None, "one\n"), is_replay=True)
        assert logs() == [(runs[0].pk, 1, 1, "one\n"), (runs[0].pk, 1, 2, "two\n"), (runs[1].pk, 1, 1, "one\n")]

    def test_progress_is_written_again(self):
        run = stored()
        taken = take_one()
        report(Report(taken, 1, (1, 2, "x")), is_replay=True)
        report(Report(taken, 1, (1, 2, "x")), is_replay=True)
        assert told(run)[:3] == (1, 2, "x")

    def test_the_same_number_of_another_attempt_is_another_piece(self):
        run = stored()
        report(Report(take_one(), 1, None, "first\n"))
        type(run).objects.update(state="queued", losses=1)
        report(Report(take_one(), 1, None, "second\n"), is_replay=True)
        assert [log[1:] for log in logs()] == [(1, 1, "first\n"), (2, 1, "second\n")]


class TestDataErrors:
    @pytest.fixture
    def runs(self):
        return [stored(ready_in=n) for n in range(3)]

    @pytest.fixture
    def reports(self, runs, refuse):
        refuse(f"NEW.run_id = {runs[1].pk}", table="jobs_runlog", event="INSERT")
        return [Report(each, 1, (1, 2, "x"), "line\n") for each in take(3)]

    def test_together_they_fail_together(self, reports):
        with pytest.raises(DatabaseError):
            report(*reports)

    def test_one_by_one_the_others_are_stored(self, runs, reports, caplog):
        report(*reports, one_by_one=True)
        assert [log[0] for log in logs()] == [runs[0].pk, runs[2].pk]
        assert [fresh(run).progress_done for run in runs] == [1, None, 1]
        assert f"what run {runs[1].pk} told could not be stored" in caplog.text

    def test_a_database_that_is_away_is_raised(self, reports, monkeypatch):
        def away(*args):
            raise OperationalError("database is locked")

        monkeypatch.setattr(reporting, "_write", away)
        with pytest.raises(OperationalError):
            report(*reports, one_by_one=True)
