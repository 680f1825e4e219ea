"""A database in which nothing can be written for a while: read-only, or on a full disk."""

import sqlite3
import subprocess
from contextlib import closing, contextmanager, suppress

import pytest
from django.db import connection

from tests.processes import switches
from tests.processes.checks import (
    LISTENER,
    SILENCE,
    WORKERS,
    nobody_was_lost,
    one_line_a_step,
    wait_for_beats,
    wait_for_steps,
)
from tests.processes.support import PATIENCE, database_url
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark


def goes_on(site, cannot_write, words: str) -> None:
    """Two workers, with a function that ends and runs that wait meanwhile, for longer than a silence may last."""
    workers = [site.runscheduler("--threads", "1", **WORKERS) for _ in range(2)]
    long = runtime_hold.enqueue_many([{}] * 2)
    site.wait_until_begun(*long)
    waiting = runtime_mark.enqueue_many([{}] * 10)
    with cannot_write():
        site.open_gate()
        wait_for_steps(workers, 1.5 * SILENCE)
    wait_until(lambda: set(states([*long, *waiting])) == {"succeeded"}, PATIENCE)
    wait_for_beats(workers, 3)
    assert site.executions() == {run.pk: 1 for run in [*long, *waiting]}
    assert nobody_was_lost(2)
    for each in workers:
        assert words in each.output
        assert one_line_a_step(each, *LISTENER)


def execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's way of being read-only")
def test_postgresql(site, server):
    @contextmanager
    def read_only():
        execute("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
        try:
            yield
        finally:
            execute("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")

    goes_on(site, read_only, "read-only transaction")


@pytest.mark.skipif(connection.vendor != "mysql", reason="MariaDB's way of being read-only")
def test_mariadb(site, server):
    """Administrators may write all the same, so the workers are somebody else."""

    @contextmanager
    def read_only():
        execute("SET GLOBAL read_only = 1")
        try:
            yield
        finally:
            execute("SET GLOBAL read_only = 0")

    name = connection.settings_dict["NAME"]
    execute("CREATE OR REPLACE USER jobs@'%'", f"GRANT ALL ON {name}.* TO jobs@'%'")
    site.environment["DATABASE_URL"] = database_url().replace("//root", "//jobs")
    goes_on(site, read_only, "--read-only option")


only_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's way of not being able to write")


@only_sqlite
def test_sqlite(site):
    site.environment["RUNTIME_SWITCHES"] = str(site.folder)
    pragma = site.folder / switches.PRAGMA

    def tell(text):
        written = site.folder / "written"
        written.write_text(text)
        written.replace(pragma)  # nobody reads half of it

    @contextmanager
    def read_only():
        tell("PRAGMA query_only = 1")
        yield
        tell("PRAGMA query_only = 0")

    goes_on(site, read_only, "attempt to write a readonly database")


@pytest.fixture
def small_disk(site, tmp_path):
    """A small file system on which the database lies."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    before = connection.settings_dict["NAME"]
    name = str(disk / "db.sqlite3")
    with closing(sqlite3.connect(before)) as source:
        source.execute("VACUUM INTO ?", (name,))  # without the room that other tests have needed
    connection.close()
    connection.settings_dict["NAME"] = name
    site.environment["DATABASE_URL"] = database_url()
    yield disk
    site.end()
    connection.close()
    connection.settings_dict["NAME"] = before
    subprocess.run(["umount", disk], check=True)


@only_sqlite
def test_a_full_disk(site, small_disk):
    @contextmanager
    def full():
        filling = small_disk / "filling"
        with filling.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        yield
        filling.unlink()

    goes_on(site, full, "database or disk is full")
