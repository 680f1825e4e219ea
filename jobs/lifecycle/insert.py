"""Storing new runs: one INSERT that names only the columns an enqueue knows; the rest have database defaults."""

from collections.abc import Sequence
from functools import cache
from operator import attrgetter

from jobs.lifecycle.database import db_time, placeholders
from jobs.models import Run
from jobs.models.fields import UTCDateTimeField

COLUMNS = (
    "task", "arguments_json", "job_id", "job_name", "state", "queue", "priority", "effective_priority", "ready_at",
    "order_key", "enqueued_at", "due_at", "on_lost", "max_losses", "unique_key", "unique_hash", "scheduled_for",
    "rerun_of_id", "submitted_by_key", "submitted_by_name",
)  # fmt: skip

ROWS_A_STATEMENT = 500

_values_of = attrgetter(*COLUMNS)


@cache
def _time_positions() -> tuple[int, ...]:
    fields = {field.attname: field for field in Run._meta.concrete_fields}
    return tuple(i for i, column in enumerate(COLUMNS) if isinstance(fields[column], UTCDateTimeField))


def _parameters(connection, run: Run) -> list:
    values = list(_values_of(run))
    for position in _time_positions():
        values[position] = db_time(connection, values[position])
    return values


_ROW = f"({placeholders(len(COLUMNS))})"
_INSERT = f"INSERT INTO jobs_run ({', '.join(COLUMNS)}) VALUES "


def insert(connection, run: Run) -> None:
    """Store one run and give it its id."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # the only one whose driver reports no last id
            cursor.execute(f"{_INSERT}{_ROW} RETURNING id", _parameters(connection, run))
            run.pk = cursor.fetchone()[0]
        else:
            cursor.execute(_INSERT + _ROW, _parameters(connection, run))
            run.pk = cursor.lastrowid
    _mark_stored(connection, run)


def insert_many(connection, runs: Sequence[Run]) -> None:
    """Store runs, whose order keys differ, in a few statements, and give them their ids. Needs a transaction."""
    size = ROWS_A_STATEMENT
    if connection.features.max_query_params:
        size = min(size, connection.features.max_query_params // len(COLUMNS))
    with connection.cursor() as cursor:
        for start in range(0, len(runs), size):
            _insert_chunk(connection, cursor, runs[start : start + size])


def _insert_chunk(connection, cursor, runs: Sequence[Run]) -> None:
    values = [value for run in runs for value in _parameters(connection, run)]
    rows = ", ".join([_ROW] * len(runs))
    cursor.execute(f"{_INSERT}{rows} RETURNING order_key, id", values)
    ids = dict(cursor.fetchall())  # no database promises the order of RETURNING
    for run in runs:
        run.pk = ids[run.order_key]
        _mark_stored(connection, run)


def _mark_stored(connection, run: Run) -> None:
    run._state.adding = False
    run._state.db = connection.alias
    run.is_new = True
