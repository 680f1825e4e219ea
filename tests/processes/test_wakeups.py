"""A process learns at once of what another one enqueues: nothing here can be found by a poll or with a sign of life."""

from datetime import timedelta

import pytest
from django.db import connection, transaction

from benchmarks.servers import PostgreSQL
from jobs.lifecycle import pause, resume
from jobs.models import Run
from tests.processes.support import PATIENCE, no_problem
from tests.runtime.support import together, wait_until
from tests.tasks import runtime_mark

NEVER = {
    "JOBS_POLL_SECONDS": "100000",
    "JOBS_HEARTBEAT_SECONDS": "100000",
    "JOBS_LOST_AFTER_SECONDS": "300000",
}

pytestmark = pytest.mark.skipif(connection.vendor == "mysql", reason="MariaDB tells nobody: there is only the poll")
postgresql_only = pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has LISTEN")


LISTENING = "SELECT 1 FROM pg_stat_activity WHERE query = 'LISTEN jobs_run'"


def other_sessions() -> dict[int, str]:
    """The sessions of other processes in this database: their last statements, by their numbers."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid, query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
        return dict(cursor.fetchall())


def listening() -> list[int]:
    return [pid for pid, query in other_sessions().items() if query.startswith("LISTEN")]


@pytest.fixture
def process(site):
    """A worker that has nothing to do, and nothing to wait for but to be told."""
    process = site.runscheduler("--threads", "1", **NEVER)
    if connection.vendor == "postgresql":
        wait_until(listening, PATIENCE)
    runtime_mark.enqueue().wait(PATIENCE)
    return process


def test_of_one_run(process):
    assert runtime_mark.enqueue().wait(PATIENCE).result == process.pid
    assert no_problem(process)


def test_of_many(process):
    for run in runtime_mark.enqueue_many([{}] * 3):
        assert run.wait(PATIENCE).result == process.pid


def test_of_a_delayed_run_whose_time_comes_before_anything_it_knew_of(process):
    runtime_mark.using(run_after=timedelta(days=1)).enqueue()
    assert runtime_mark.using(run_after=timedelta(seconds=0.3)).enqueue().wait(PATIENCE).result == process.pid


def test_of_a_repetition(process):
    assert Run.objects.earliest("pk").run_again().wait(PATIENCE).result == process.pid


def test_with_the_commit_and_not_before(process):
    with transaction.atomic():
        run = runtime_mark.enqueue()
        if connection.vendor == "postgresql":  # on SQLite nobody else can write meanwhile
            others = []
            together([lambda: others.append(runtime_mark.enqueue())])
            together([lambda: others[0].wait(PATIENCE)])
        run.refresh_from_db()
        assert run.state == "queued"
    assert run.wait(PATIENCE).result == process.pid


def test_of_a_queue_that_is_resumed(site):
    pause("mail")
    process = site.runscheduler("--threads", "1", **NEVER | {"JOBS_POLL_SECONDS": "0.2"})
    waiting = runtime_mark.using(queue="mail").enqueue()
    runtime_mark.enqueue().wait(PATIENCE)  # it looks for pauses now and then, and has seen this one
    resume("mail")
    assert waiting.wait(PATIENCE).result == process.pid


@postgresql_only
def test_the_sessions_of_a_process_are_counted_and_go_with_it(site):
    wait_until(lambda: not other_sessions(), PATIENCE)
    process = site.runscheduler("--threads", "3", **NEVER)
    wait_until(listening, PATIENCE)
    for run in runtime_mark.enqueue_many([{}] * 60):
        run.wait(PATIENCE)
        assert len(other_sessions()) <= 3 + 2 + 1
    assert len(listening()) == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", listening())
    wait_until(listening, PATIENCE)
    assert len(other_sessions()) <= 3 + 2 + 1
    assert runtime_mark.enqueue().wait(PATIENCE).result == process.pid
    assert process.ends_by(15, within=PATIENCE) == 0
    wait_until(lambda: not other_sessions(), PATIENCE)


@postgresql_only
def test_with_notify_off_there_is_no_session_for_it_and_the_poll_finds_the_run(site):
    process = site.runscheduler("--threads", "1", **NEVER | {"JOBS_NOTIFY": "off", "JOBS_POLL_SECONDS": "0.2"})
    assert runtime_mark.enqueue().wait(PATIENCE).result == process.pid
    assert not listening()


@postgresql_only
def test_a_server_that_goes_and_comes_is_listened_to_again(site):
    """On a server of its own, which may be stopped."""
    psycopg = pytest.importorskip("psycopg")
    if not PostgreSQL.is_installed():
        pytest.skip("PostgreSQL's programs are not on this machine")
    with PostgreSQL(durable=False) as server:
        server.create("jobs")
        environment = {"DATABASE_URL": server.url("jobs"), **NEVER, "JOBS_POLL_SECONDS": "1", "PYTHONUNBUFFERED": "1"}
        assert site.manage("migrate", **environment).wait() == 0
        process = site.manage("runscheduler", "--threads", "1", **environment)
        with psycopg.connect(server.url("jobs"), autocommit=True) as db:
            wait_until(lambda: db.execute(LISTENING).fetchone(), PATIENCE)
        server.stop()
        wait_until(lambda: "no notifications of the database" in process.output, PATIENCE)
        server.start()
        wait_until(lambda: "notifications of the database come again" in process.output, PATIENCE)
        assert process.output.count("notifications of the database") == 2
        assert site.manage("enqueue", "tests.tasks.runtime_mark", "--wait", **environment).wait() == 0
        assert process.ends_by(15, within=PATIENCE) == 0
