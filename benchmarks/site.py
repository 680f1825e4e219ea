"""The site that is measured: its database, its worker processes, what its task functions wrote down."""

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parent.parent
END_SECONDS = 60.0


def load() -> None:
    """Load Django with the settings of the benchmarks, whatever the environment says."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    django.setup()


def setup() -> None:
    """Load Django and make the first database. From now on SIGTERM ends this process in order, worker processes too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    load()
    if not is_sqlite():
        _make_database()
    fresh()


def is_sqlite() -> bool:
    from django.db import connection

    return connection.vendor == "sqlite"


def _make_database() -> None:
    """A database on the server for this process and those that it starts, until its end."""
    from django.db import connection

    named = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    os.environ["BENCHMARKS_DATABASE_NAME"] = connection.settings_dict["NAME"]
    atexit.register(connection.creation.destroy_test_db, named, verbosity=0)


def directory() -> Path:
    from django.conf import settings

    return settings.BENCHMARKS_DIRECTORY


def fresh(source: Path | None = None) -> None:
    """Start over with nothing written down and with empty tables, or those of `source`. No worker may be at work."""
    from django.core.management import call_command
    from django.db import connections

    _await_dispatchers()
    connections.close_all()
    for written in ("starts", "handouts"):
        (directory() / written).write_bytes(b"")  # not unlinked: this process may have it open
    if not is_sqlite():
        if source:
            raise RuntimeError("This benchmark copies files of SQLite.")
        call_command("flush", interactive=False, verbosity=0)
        return
    database, template = directory() / "db.sqlite3", directory() / "template.sqlite3"
    for leftover in directory().glob("db.sqlite3*"):
        leftover.unlink()
    if not template.exists():
        call_command("migrate", run_syncdb=True, verbosity=0)
        connections.close_all()  # the last one to leave puts the write-ahead log into the file
        shutil.move(database, template)
    shutil.copy(source or template, database)


def _await_dispatchers() -> None:
    """The dispatcher of a scheduler that has stopped may still be closing its connection, which tidies up the files of
    the database by their names: they must not yet be those of the next one."""
    for thread in threading.enumerate():
        if thread.name == "jobs-dispatcher":
            thread.join()


@contextmanager
def process(*arguments: str, jobs: dict | None = None, stderr=None) -> Iterator[subprocess.Popen]:
    """`python -m …` on the same database, from its first line of output until SIGTERM ends it in order."""
    started = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, "BENCHMARKS_JOBS": json.dumps(jobs or {}), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
    try:
        if not started.stdout.readline():
            raise RuntimeError(f"{' '.join(arguments)} ended at once (status {started.wait()})")
        yield started
    finally:
        started.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            started.wait(END_SECONDS)
        started.kill()
        started.wait()
        started.stdout.close()


def runscheduler(*, threads: int, jobs: dict | None = None):
    """The command that a site starts, in a process of its own."""
    return process("django", "runscheduler", f"--threads={threads}", jobs=jobs)


def wait_until(is_so: Callable[[], bool], *, seconds: float, what: str, step: float = 0.1) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"after {seconds:g} s still not so: {what}")
        time.sleep(step)


def wait_for_workers(count: int) -> None:
    """Until so many have given a sign of life, and so have seen the others."""
    from jobs.models import Worker

    present = Worker.objects.filter(state="alive", beats__gte=1)
    wait_until(lambda: present.count() == count, seconds=END_SECONDS, what=f"{count} workers are present", step=0.05)


def all_finished() -> bool:
    from jobs.core.states import UNFINISHED
    from jobs.models import Run

    return not Run.objects.filter(state__in=sorted(UNFINISHED)).exists()


def count_starts() -> int:
    return (directory() / "starts").read_bytes().count(b"\n")


def starts(written: str = "starts") -> list[tuple[int, int]]:
    """(number, monotonic nanoseconds) of every start (or of the "handouts") that was written down, in their order."""
    lines = (directory() / written).read_text().splitlines()
    return [(int(number), int(at)) for number, at in map(str.split, lines)]


def check_each_ran_once(count: int) -> None:
    """Every run succeeded, and its function ran once: a fast benchmark that loses runs measures nothing."""
    from jobs.models import Run

    numbers = [number for number, _ in starts()]
    succeeded = Run.objects.filter(state="succeeded").count()
    if sorted(numbers) != list(range(count)) or succeeded != count:
        raise RuntimeError(f"{count} runs: {len(numbers)} starts of {len(set(numbers))}, {succeeded} succeeded")
