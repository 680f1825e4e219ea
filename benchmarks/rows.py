"""Tables full of runs, written by one statement inside the database instead of by `enqueue`."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shutil import copy

from benchmarks import site

_FILL = """
INSERT INTO jobs_run (task, arguments_json, state, queue, priority, effective_priority, ready_at, order_key,
                      enqueued_at, due_at, started_at, finished_at, worker_id)
WITH RECURSIVE number(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM number WHERE i + 1 < :count)
SELECT 'benchmarks.tasks.note', '{"number": ' || i || '}', :state, iif(:queues = 1, :queue, :queue || (i % :queues)),
       priority, priority, :past, priority * 4503599627370496 + 1793000000000000 + i,
       :past, iif(:state = 'scheduled', :future, NULL), iif(:state = 'succeeded', :past, NULL),
       iif(:state = 'succeeded', :past, NULL), iif(:state = 'succeeded', 1, NULL)
FROM (SELECT i, (i * 7919) % :levels - :levels / 2 AS priority FROM number)
"""

_numbers = count(1)


@dataclass(frozen=True)
class Rows:
    """So many runs in one state. Their priorities change from each to the next, or `levels` is 1; in one queue, or
    spread over several."""

    count: int
    state: str = "queued"
    levels: int = 201
    queue: str = "default"
    queues: int = 1


def database_with(all_rows: Sequence[Rows]) -> Path:
    """A new database file of the site that holds these runs."""
    path = site.directory() / f"rows-{next(_numbers)}.sqlite3"
    copy(site.directory() / "template.sqlite3", path)
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        for rows in all_rows:
            connection.execute(_FILL, vars(rows) | {"past": "2026-01-01 00:00:00", "future": "2100-01-01 00:00:00"})
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


def open_database(path: Path):
    """A connection of Django's to this file, with the options of the site."""
    from django.db import connections

    connection = connections.create_connection("default")
    connection.settings_dict = {**connection.settings_dict, "NAME": str(path)}
    return connection
