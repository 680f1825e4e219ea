"""The rows of workers: their start, their signs of life, their end."""

import os
import socket
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from importlib.metadata import PackageNotFoundError, version

from jobs.lifecycle.database import alias, db_time
from jobs.models import Queue, Worker

# Times LOST_AFTER_SECONDS, by wall time: dead for those who do not stay long enough to watch.
LONG_SILENT = 10

_BEAT = "UPDATE jobs_worker SET beats = beats + 1, beat_at = %s WHERE id = %s AND state IN ('alive', 'stopping')"
_PRESENT = "SELECT id, beats FROM jobs_worker WHERE state IN ('alive', 'stopping') AND id <> %s"


def enter(*, kind: str, executor: str, threads: int, queues: Sequence[str] | None, now: datetime) -> Worker:
    """Make a new worker row for this process, alive from now on."""
    host = socket.gethostname()
    return Worker.objects.using(alias()).create(
        name=f"{host}:{os.getpid()}",
        host=host,
        pid=os.getpid(),
        kind=kind,
        executor=executor,
        threads=threads,
        queues=None if queues is None else ", ".join(queues),
        version=_version(),
        beat_at=now,
        started_at=now,
    )


def _version() -> str:
    try:
        return version("jobs")
    except PackageNotFoundError:  # run from a checkout
        return ""


def name_of(connection, worker_id: int | None) -> str:
    """The name of a worker for the history; empty if its row is gone."""
    return Worker.objects.using(connection.alias).filter(pk=worker_id).values_list("name", flat=True).first() or ""


def beat(connection, worker_id: int, now: datetime) -> bool:
    """Raise the worker's counter. False: its row is gone or was declared dead, and it owns nothing any more."""
    with connection.cursor() as cursor:
        cursor.execute(_BEAT, (db_time(connection, now), worker_id))
        return cursor.rowcount == 1


def others(connection, worker_id: int) -> dict[int, int]:
    """The counters of all other present workers by id."""
    with connection.cursor() as cursor:
        cursor.execute(_PRESENT, (worker_id,))
        return dict(cursor.fetchall())


def long_silent(connection, worker_id: int, *, since: timedelta, now: datetime) -> frozenset[int]:
    """Other present workers whose last sign of life is older than `since` by wall time, for observers that do not stay
    long enough to watch them."""
    silent = Worker.objects.using(connection.alias).filter(state__in=Worker.PRESENT, beat_at__lt=now - since)
    return frozenset(silent.exclude(pk=worker_id).values_list("pk", flat=True))


def mark(connection, worker_id: int, state: Worker.State, now: datetime) -> None:
    """Write that a present worker is stopping, or has stopped."""
    present = Worker.objects.using(connection.alias).filter(pk=worker_id, state__in=Worker.PRESENT)
    present.update(state=state, stopped_at=now if state == Worker.State.STOPPED else None)


def paused_queues(connection) -> Collection[str]:
    """The names of the queues that a person has paused."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT name FROM {Queue._meta.db_table} WHERE is_paused = %s", (True,))
        return frozenset(row[0] for row in cursor.fetchall())
