"""Tables full of runs, written by one statement inside the database instead of by `enqueue`."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shutil import copy

from benchmarks import site

# {numbers} are the rows i = 0, 1, 2, …; the figures are whole numbers of ours, so that they may stand in the text.
_FILL = """
INSERT INTO jobs_run (task, arguments_json, state, queue, priority, effective_priority, ready_at, order_key,
                      enqueued_at, due_at, started_at, finished_at, worker_id)
SELECT 'benchmarks.tasks.note', {arguments}, '{rows.state}', {queue}, priority, priority, '{past}',
       priority * 4503599627370496 + {rows.first_key} + i, '{past}', {due}, {began}, {ended}, {worker}
FROM (SELECT i, (i * 7919) % {rows.levels} - {half} AS priority FROM ({numbers}) AS numbers) AS prioritised
"""
_NUMBERS = {
    "sqlite": "WITH RECURSIVE number(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM number WHERE i + 1 < {count}) "
    "SELECT i FROM number",
    "postgresql": "SELECT CAST(i AS bigint) AS i FROM generate_series(0, {last}) AS i",
    "mysql": "SELECT CAST(seq AS signed) AS i FROM seq_0_to_{last}",
}
PAST, FUTURE = "2026-01-01 00:00:00", "2100-01-01 00:00:00"

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
    first_key: int = 1_793_000_000_000_000
    due: str = FUTURE  # of scheduled ones

    def statement(self, vendor: str) -> str:
        """The statement that stores them."""
        is_over = self.state == "succeeded"
        glue = "CONCAT({})" if vendor == "mysql" else "{}"
        text = ", ".join if vendor == "mysql" else " || ".join
        name = glue.format(text([f"'{self.queue}'", f"(i % {self.queues})"]))
        return _FILL.format(
            rows=self,
            arguments=glue.format(text(["'{\"number\": '", "i", "'}'"])),
            queue=f"'{self.queue}'" if self.queues == 1 else name,
            past=PAST,
            due=f"'{self.due}'" if self.state == "scheduled" else "NULL",
            began=f"'{PAST}'" if is_over else "NULL",
            ended=f"'{PAST}'" if is_over else "NULL",
            worker=1 if is_over else "NULL",
            half=self.levels // 2,
            numbers=_NUMBERS[vendor].format(count=self.count, last=self.count - 1),
        )


def fill(connection, rows: Rows) -> None:
    """Store them over a connection of Django's."""
    with connection.cursor() as cursor:
        cursor.execute(rows.statement(connection.vendor))


def database_with(all_rows: Sequence[Rows]) -> Path:
    """A new database file of the site that holds these runs."""
    path = site.directory() / f"rows-{next(_numbers)}.sqlite3"
    copy(site.directory() / "template.sqlite3", path)
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        for rows in all_rows:
            connection.execute(rows.statement("sqlite"))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


def open_database(path: Path):
    """A connection of Django's to this file, with the options of the site."""
    from django.db import connections

    connection = connections.create_connection("default")
    connection.settings_dict = {**connection.settings_dict, "NAME": str(path)}
    return connection
