"""What the checks say about the server that holds the runs, and that no scheduler works with one that cannot do it."""

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import NotSupportedError, OperationalError

from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.server import UnsupportedServer, check_server
from jobs.models import Worker
from jobs.runtime.scheduler import Scheduler
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

only_mariadb = pytest.mark.skipif(connection().vendor != "mysql", reason="only MariaDB has a collation for each column")


def found(databases=None):
    asked = run_checks(tags=["jobs"], databases=[alias()] if databases is None else databases)
    return {check.id: check for check in asked if check.id in ("jobs.E003", "jobs.W005")}


@pytest.fixture
def old_server(monkeypatch):
    """As MariaDB 10.5 is to Django 5.2."""
    monkeypatch.setitem(vars(connection().features), "has_select_for_update", True)
    monkeypatch.setitem(vars(connection().features), "has_select_for_update_skip_locked", False)


def test_the_database_of_these_tests_is_right():
    assert found() == {}
    check_server(connection())


def test_a_server_without_skip_locked(old_server):
    error = found()["jobs.E003"]
    assert "SKIP LOCKED" in error.msg
    assert "MariaDB 10.6" in error.hint
    assert error.is_serious()
    with pytest.raises(UnsupportedServer, match="or MariaDB"):
        check_server(connection())


def test_a_server_that_django_refuses(monkeypatch):
    def refuse():
        raise NotSupportedError("MariaDB 10.6 or later is required (found 10.3.39)")

    monkeypatch.setattr(connection(), "ensure_connection", refuse)
    assert "found 10.3.39" in found()["jobs.E003"].msg


@pytest.mark.parametrize("vendor", ["oracle", "microsoft"])
def test_a_database_that_is_not_known(monkeypatch, vendor):
    monkeypatch.setattr(connection(), "vendor", vendor)
    assert "does not know the database" in found()["jobs.E003"].msg


def test_other_databases_are_not_asked(old_server):
    assert found([]) == {}
    assert found(["other"]) == {}


@pytest.mark.parametrize("error", [OperationalError("can't connect"), RuntimeError("odd")])
def test_a_database_that_cannot_be_reached_is_no_finding(monkeypatch, error):
    def fail():
        raise error

    monkeypatch.setattr(connection(), "ensure_connection", fail)
    assert found() == {}


def test_check_asks_it_by_the_name_of_the_database(capsys):
    call_command("check", databases=[alias()])
    assert "no issues" in capsys.readouterr().out


def test_no_scheduler_starts(monkeypatch, caplog):
    """It is refused once, in words: no errors of the database in a loop."""
    monkeypatch.setattr("jobs.lifecycle.server.problem_of", lambda connection: "The database server is too old.")
    scheduler = Scheduler(kind="test", threads=1)
    scheduler.start()
    assert scheduler.stopped.wait(PATIENCE)
    assert isinstance(scheduler.refusal, UnsupportedServer)
    assert [record.levelname for record in caplog.records if record.name == "jobs"] == ["ERROR"]
    assert "too old. Use SQLite, PostgreSQL, or MariaDB 10.6" in caplog.text
    assert not Worker.objects.exists()


@only_mariadb
@pytest.mark.parametrize("collation", ["utf8mb4_general_ci", "utf8mb4_bin", "utf8mb3_bin"])
def test_a_column_that_merges_names_or_lacks_characters(collation):
    convert("jobs_queue", collation)
    try:
        warning = found()["jobs.W005"]
    finally:
        convert("jobs_queue", "utf8mb4_nopad_bin")
    assert f"jobs_queue.name ({collation})" in warning.msg
    assert "jobs_run" not in warning.msg
    assert warning.hint.endswith("utf8mb4_nopad_bin for each of these tables: jobs_queue.")
    assert found() == {}  # and what the hint says mends it


def convert(table: str, collation: str) -> None:
    charset = collation.split("_")[0]
    with connection().cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} CONVERT TO CHARACTER SET {charset} COLLATE {collation}")
