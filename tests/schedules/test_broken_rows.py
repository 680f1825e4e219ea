"""Rows that somebody has broken by SQL are told once and stop nothing; mended they fire again."""

from collections import Counter

import pytest

from jobs.lifecycle.database import connection
from jobs.models import Run, Schedule
from jobs.runtime.agenda import EDITS_SECONDS
from tests.runtime.test_dispatcher import Statements
from tests.schedules.support import a_job, a_schedule, drive, every, settle, slots, sql

pytestmark = pytest.mark.django_db(transaction=True)

# What is broken in a row of the table, and what mends it.
RULES = {
    "a day that never comes": ("expression = '0 0 31 2 *'", "expression = '* * * * *'"),
    "no expression": ("expression = 'garbage'", "expression = '* * * * *'"),
    "an empty expression": ("expression = ''", "expression = '* * * * *'"),
    "no such zone": ("time_zone = 'Asia/Hanoi'", "time_zone = 'Asia/Bangkok'"),
    "an empty zone": ("time_zone = ''", "time_zone = 'UTC'"),
    "a zone that is a path": ("time_zone = '../../etc/passwd'", "time_zone = 'UTC'"),
    "an interval of nothing": ("kind = 'interval', interval_seconds = 0", "interval_seconds = 60"),
    "an interval that goes back": ("kind = 'interval', interval_seconds = -5", "interval_seconds = 60"),
    "an interval of 400 years": ("kind = 'interval', interval_seconds = 12623040000", "interval_seconds = 60"),
    "no interval": ("kind = 'interval', interval_seconds = NULL", "interval_seconds = 60"),
    "an interval from nowhere": (
        "kind = 'interval', interval_seconds = 60, anchor_at = NULL",
        "anchor_at = '2027-01-01 00:00:00'",
    ),
    "no such kind": ("kind = 'nonsense'", "kind = 'cron'"),
    "an end before its start": (
        "starts_at = '2027-02-01 00:00:00', ends_at = '2027-01-01 00:00:00'",
        "starts_at = NULL, ends_at = NULL",
    ),
    "a last slot at the end of time": (
        "last_slot_at = '9999-12-31 23:59:59', planned_rule = ''",
        "last_slot_at = NULL",
    ),
}
# These are seen when a slot comes.
POLICIES = {
    "no such misfire": ("misfire = 'nonsense'", "misfire = 'once'"),
    "no such overlap": ("overlap = 'nonsense'", "overlap = 'skip'"),
}
BROKEN = RULES | POLICIES
# Text in a column of moments, which only SQLite takes.
NO_MOMENTS = ["garbage", "", "2027-13-45 00:00:00", "2027-02-30", 12345]
MOMENT_COLUMNS = ["anchor_at", "starts_at", "ends_at", "last_slot_at", "next_slot_at", "look_at"]


@pytest.fixture
def only_sqlite(transactional_db):
    if connection().vendor != "sqlite":
        pytest.skip("the database refuses it")


def a_minutely(**columns) -> Schedule:
    return a_schedule(anchor_at="2027-01-01T00:00:00Z", **columns)


def change(schedule: Schedule, assignments: str) -> None:
    sql(f"UPDATE jobs_schedule SET {assignments} WHERE id = %s", schedule.pk)


def complaints(caplog) -> Counter:
    return Counter(int(record.getMessage().split()[1].rstrip(":")) for record in caplog.records)


def test_none_of_them_costs_a_healthy_one_a_slot(clock, by_hand, caplog):
    rows = {name: a_minutely() for name in BROKEN}
    for name, row in rows.items():
        change(row, BROKEN[name][0])
    healthy, dispatcher = every(2), by_hand()
    settle(dispatcher)
    drive(clock, 180, dispatcher)
    assert len(slots(healthy)) == 90
    for name, row in rows.items():
        row.refresh_from_db()
        assert row.problem, name
        assert slots(row) == [], name
    assert complaints(caplog) == {row.pk: 1 for row in rows.values()}  # once, not at every look or slot


@pytest.mark.parametrize("name", BROKEN)
def test_mended_by_sql_it_fires_from_the_next_look_on(clock, by_hand, caplog, name):
    broken, mended = BROKEN[name]
    row, dispatcher = a_minutely(), by_hand()
    change(row, broken)
    settle(dispatcher)
    drive(clock, 90, dispatcher)
    assert slots(row) == []
    change(row, mended)
    caplog.clear()
    drive(clock, 120 - 90 + EDITS_SECONDS, dispatcher)
    drive(clock, 60, dispatcher)
    row.refresh_from_db()
    assert row.problem == ""
    assert "01-01T00:03:00" in slots(row)
    assert caplog.records == []


@pytest.mark.parametrize("name", RULES)
def test_a_plan_that_there_was_does_not_outlive_the_rule(clock, by_hand, name):
    """A slot that comes before the edit is noticed is not run by the old rule."""
    row, dispatcher = a_minutely(), by_hand()
    settle(dispatcher)
    clock.move(59)
    change(row, RULES[name][0])
    drive(clock, 30, dispatcher, step=0.5)
    row.refresh_from_db()
    assert slots(row) == []
    assert row.problem


def test_however_many_there_are_they_are_looked_at_together_and_seldom(clock, by_hand):
    dispatcher = by_hand(HEARTBEAT_SECONDS=1e4, LOST_AFTER_SECONDS=1e5)
    statements_of, busy_of = [], []
    a_schedule("0 0 1 1 *")
    for assignments in [None, *(broken for broken, _ in RULES.values())]:
        if assignments:
            change(a_minutely(), assignments)
        drive(clock, 3 * EDITS_SECONDS, dispatcher)  # everything has been looked at
        with Statements() as statements:
            busy = []
            for _ in range(40):
                clock.move(EDITS_SECONDS / 40)
                busy.append(dispatcher.cycle())
                assert dispatcher.next_look_in() > 0
        statements_of.append(len(statements.all))
        busy_of.append(sum(busy))
    assert busy_of[0] == 0
    assert max(busy_of) <= 1  # transactions in ten seconds
    assert max(statements_of) <= statements_of[0] + 10 + 3 * len(RULES)


def test_an_interval_of_nothing_does_not_spin(clock, by_hand):
    row, dispatcher = every(2), by_hand()
    change(row, "interval_seconds = 0")
    settle(dispatcher)
    for _ in range(20):
        clock.move(1)
        dispatcher.cycle()
        assert dispatcher.cycle() is False
        assert dispatcher.next_look_in() > 0.5
    assert not Run.objects.exists()


class TestWithoutItsJob:
    """PostgreSQL and MariaDB refuse to delete a job that has schedules; on SQLite a hand may have switched that off."""

    def test_it_is_told_and_the_others_go_on(self, clock, by_hand, caplog, only_sqlite):
        job = a_job()
        row, healthy, dispatcher = a_schedule(job=job), every(2), by_hand()
        settle(dispatcher)
        sql("PRAGMA foreign_keys = OFF")
        try:
            sql("DELETE FROM jobs_job WHERE id = %s", job.pk)
            drive(clock, 180, dispatcher)
            row.refresh_from_db()
            assert "job" in row.problem
            assert slots(row) == []
            assert len(slots(healthy)) == 90
            assert complaints(caplog) == {row.pk: 1}
            a_job(pk=job.pk, name="again")
            drive(clock, EDITS_SECONDS, dispatcher)
            drive(clock, 60, dispatcher)
            assert len(slots(row)) == 1
        finally:
            Schedule.objects.all().delete()
            sql("PRAGMA foreign_keys = ON")


class TestNoMoments:
    @pytest.mark.parametrize("value", NO_MOMENTS)
    @pytest.mark.parametrize("column", MOMENT_COLUMNS)
    def test_the_healthy_one_loses_no_slot(self, clock, by_hand, caplog, only_sqlite, column, value):
        healthy, row, dispatcher = every(2), a_minutely(), by_hand()
        settle(dispatcher)
        sql(f"UPDATE jobs_schedule SET {column} = %s WHERE id = %s", value, row.pk)
        drive(clock, 60, dispatcher)
        assert len(slots(healthy)) == 30
        assert complaints(caplog)[row.pk] <= 1

    @pytest.mark.parametrize("column", ["anchor_at", "starts_at", "ends_at", "look_at"])
    def test_alone_it_stops_no_other_run(self, clock, by_hand, ok, only_sqlite, column):
        row, dispatcher = a_minutely(), by_hand()
        settle(dispatcher)
        sql(f"UPDATE jobs_schedule SET {column} = '2027-13-45 00:00:00' WHERE id = %s", row.pk)
        run = ok.enqueue()
        drive(clock, 2 * EDITS_SECONDS, dispatcher)
        assert Run.objects.get(pk=run.pk).state == "succeeded"

    @pytest.mark.parametrize("column", ["anchor_at", "starts_at", "ends_at"])
    def test_mended_it_fires_again(self, clock, by_hand, only_sqlite, column):
        row, dispatcher = a_minutely(), by_hand()
        settle(dispatcher)
        sql(f"UPDATE jobs_schedule SET {column} = '2027-13-45 00:00:00' WHERE id = %s", row.pk)
        drive(clock, 30, dispatcher)
        sql(f"UPDATE jobs_schedule SET {column} = NULL WHERE id = %s", row.pk)
        drive(clock, 40, dispatcher)
        assert slots(row) == ["01-01T00:01:00"]
