"""What a worker asks the database reads as few rows as it takes, however long the history is, and sorts nothing: with
statistics up to date, with none, and with statistics of another time, which are what a database has after a burst."""

import os
from dataclasses import replace

import pytest
from django.core.management.color import no_style

from benchmarks.rows import PAST, Rows, fill
from jobs.core import clock
from jobs.lifecycle import claim as claims
from jobs.lifecycle import rescue as rescues
from jobs.lifecycle.database import BY_INDEX, connection
from jobs.lifecycle.promote import BATCH, promote
from jobs.lifecycle.upcoming import next_moment
from jobs.models import Run
from tests.lifecycle.reading import observed
from tests.lifecycle.support import failure, give_back, new_worker, success, take, write

pytestmark = pytest.mark.django_db

# A million rows take a minute to store; set JOBS_TEST_MILLION=1 to have them.
FEW = 20_000
FINISHED = 1_000_000 if os.environ.get("JOBS_TEST_MILLION") else FEW
QUEUED, DUE, LIMIT = 5_000, 700, 64
QUEUED_ROWS = [Rows(QUEUED, queue="one"), Rows(QUEUED, queue="three", queues=3)]
OTHER_ROWS = [
    Rows(FINISHED, state="succeeded", queue="one"),
    Rows(DUE, state="scheduled", due=PAST),
    Rows(QUEUED, state="scheduled"),
]
THREE = ["three0", "three1", "three2"]


def empty():
    with connection().cursor() as cursor:
        tables = ["jobs_run", "jobs_attempt", "jobs_runlog", "jobs_rundependency"]
        connection().ops.execute_sql_flush(connection().ops.sql_flush(no_style(), tables))
        if connection().vendor == "sqlite":
            cursor.execute("DROP TABLE IF EXISTS sqlite_stat1")
            cursor.execute("ANALYZE sqlite_schema")  # the open connection forgets them as well


def analyze():
    with connection().cursor() as cursor:
        cursor.execute("ANALYZE TABLE jobs_run" if connection().vendor == "mysql" else "ANALYZE jobs_run")
        if connection().vendor == "mysql":
            cursor.fetchall()


def store(*all_rows):
    for rows in all_rows:
        fill(connection(), rows)


def delete_queued():
    with connection().cursor() as cursor:
        cursor.execute("DELETE FROM jobs_run WHERE state = 'queued'")


def store_others():
    """What stands beside the queued runs: once, as it takes long."""
    if not Run.objects.filter(state="succeeded").exists():
        store(*OTHER_ROWS)


def without_statistics():
    empty()
    store(replace(OTHER_ROWS[0], count=FEW), *OTHER_ROWS[1:], *QUEUED_ROWS)


def before_they_were_finished():
    """When all were queued. It makes no difference that other rows than those are the finished ones."""
    empty()
    store(*QUEUED_ROWS)
    analyze()
    delete_queued()
    store_others()
    store(*QUEUED_ROWS)


def of_now():
    before_they_were_queued()
    analyze()


def before_they_were_queued():
    store_others()
    delete_queued()
    analyze()
    store(*QUEUED_ROWS)


STATISTICS = [without_statistics, before_they_were_finished, of_now, before_they_were_queued]


@pytest.fixture(scope="module")
def _room(django_db_setup, django_db_blocker):
    """The tables are this module's alone."""
    with django_db_blocker.unblock():
        empty()
        yield
        empty()
        analyze()


@pytest.fixture(scope="module", params=STATISTICS, ids=lambda function: function.__name__)
def _table(request, _room, django_db_blocker):
    with django_db_blocker.unblock():
        request.param()


@pytest.fixture
def reading(_table, db):
    """A function that calls another and checks what that reads; gives back what it returned. In a transaction like that
    of a dispatcher."""
    if connection().vendor == "postgresql":
        with connection().cursor() as cursor:
            cursor.execute("; ".join(BY_INDEX))

    def check(limit, function, *args, **kwargs):
        with observed(connection()) as readings:
            result = function(*args, **kwargs)
        assert readings
        for each in readings:
            assert not each.has_sorted, each
            assert each.rows <= 2 * limit + 20, each
        return result

    return check


@pytest.mark.parametrize("queues", [["one"], THREE, None], ids=["one queue", "three queues", "all queues"])
@pytest.mark.parametrize("limit", [1, 4, LIMIT])
def test_a_claim(reading, queues, limit):
    assert len(reading(limit, take, limit, queues=queues)) == limit
    assert len(reading(limit, take, limit, queues=queues, paused=["three1"])) == limit


def test_a_look_whether_there_is_anything_to_do(reading):
    for queues in (["one"], THREE, None):
        assert len(reading(1, claims.best_waiting, connection(), 1, queues)) == 1
    assert reading(1, next_moment, connection()) is not None


def test_a_promotion(reading):
    assert reading(BATCH, promote, connection(), clock.now()) == BATCH
    assert reading(BATCH, promote, connection(), clock.now()) == DUE - BATCH
    assert reading(1, promote, connection(), clock.now()) == 0


def test_what_is_running(reading):
    me, other = new_worker().pk, new_worker().pk
    mine, others, orphans = take(8, worker=me), take(8, worker=other), take(8, worker=other + 1000)
    running = len(mine) + len(others) + len(orphans)
    assert reading(running, claims.owned_by, connection(), me) == mine
    assert len(reading(running, rescues._orphans, connection())) == len(orphans)


def test_ends_and_releases(reading):
    runs = take(16)
    assert len(reading(1, write, success(runs[0]), success(runs[1]), failure(runs[2]))) == 3
    reading(1, give_back, *runs[3:8])
    assert Run.objects.filter(state="running").count() == 8
