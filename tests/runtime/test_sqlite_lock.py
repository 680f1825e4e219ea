"""SQLite's one write lock."""

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from jobs.lifecycle.database import begin_session, short_transaction
from jobs.models import Run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite alone has one lock for all"),
]


def somebody_else() -> sqlite3.Connection:
    return sqlite3.connect(connection.settings_dict["NAME"], timeout=1.0, isolation_level=None)


def test_no_lock_is_held_while_a_function_works(start, task, gate, ok):
    """Somebody else can write at once: no transaction waits for the end of the function."""

    @task
    def hold():
        Run.objects.count()
        gate()

    run = hold.enqueue()
    ok.using(run_after=timedelta(hours=1)).enqueue()
    start(threads=2)
    gate.wait_until_entered()
    with closing(somebody_else()) as other:
        for _ in range(20):  # and at any time, also between two signs of life
            other.execute("BEGIN IMMEDIATE")
            other.execute("UPDATE jobs_run SET progress_message = 'written from outside' WHERE id = ?", [run.pk])
            other.execute("COMMIT")
    assert not gate.opened.is_set()
    run.refresh_from_db()
    assert (run.state, run.progress_message) == ("running", "written from outside")


@pytest.fixture
def deferring(monkeypatch):
    """The connection of a site that begins transactions in Django's own way, and waits for no lock."""
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {"timeout": 0})
    yield connection
    connection.close()


def test_a_dispatcher_has_the_lock_before_it_reads(deferring):
    """What has read cannot wait for the lock: it fails at once, and among many who write it may do so for ever."""
    deferring.ensure_connection()
    begin_session(deferring)
    entered = []
    with closing(somebody_else()) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="locked"), short_transaction():
            entered.append("without the lock")
        other.execute("ROLLBACK")
    with short_transaction():
        entered.append("with it")
    assert entered == ["with it"]
