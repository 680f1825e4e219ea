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

# What most runs leave at its default, and that default.
_RARE = {
    "start_deadline_at": None, "reason_code": "", "schedule_id": None, "slot": None, "options_json": None,
    "max_attempts": 1, "timeout_seconds": None, "executor": "",
}  # fmt: skip
RARE_COLUMNS = tuple(_RARE)
_rare_values, _RARE_DEFAULTS = attrgetter(*RARE_COLUMNS), tuple(_RARE.values())

ROWS_A_STATEMENT = 500


class _Shape:
    """An INSERT that names these columns."""

    def __init__(self, columns: tuple[str, ...]):
        fields = {field.attname: field for field in Run._meta.concrete_fields}
        self.width = len(columns)
        self.row = f"({placeholders(self.width)})"
        self.insert = f"INSERT INTO jobs_run ({', '.join(columns)}) VALUES "
        self._values_of = attrgetter(*columns)
        self._times = [i for i, column in enumerate(columns) if isinstance(fields[column], UTCDateTimeField)]

    def parameters(self, connection, run: Run) -> list:
        values = list(self._values_of(run))
        for position in self._times:
            values[position] = db_time(connection, values[position])
        return values


@cache
def _shape(has_rare_values: bool) -> _Shape:
    return _Shape(COLUMNS + RARE_COLUMNS if has_rare_values else COLUMNS)


def _shape_of(runs: Sequence[Run]) -> _Shape:
    return _shape(any(_rare_values(run) != _RARE_DEFAULTS for run in runs))


def insert(connection, run: Run) -> None:
    """Store one run and give it its id."""
    shape = _shape_of([run])
    statement, values = shape.insert + shape.row, shape.parameters(connection, run)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # the only one whose driver reports no last id
            cursor.execute(f"{statement} RETURNING id", values)
            run.pk = cursor.fetchone()[0]
        else:
            cursor.execute(statement, values)
            run.pk = cursor.lastrowid
    _mark_stored(connection, run)


def insert_many(connection, runs: Sequence[Run]) -> None:
    """Store runs, whose order keys differ, in a few statements, and give them their ids. Needs a transaction."""
    shape, size = _shape_of(runs), ROWS_A_STATEMENT
    if connection.features.max_query_params:
        size = min(size, connection.features.max_query_params // shape.width)
    with connection.cursor() as cursor:
        for start in range(0, len(runs), size):
            _insert_chunk(connection, cursor, shape, runs[start : start + size])


def _insert_chunk(connection, cursor, shape: _Shape, runs: Sequence[Run]) -> None:
    values = [value for run in runs for value in shape.parameters(connection, run)]
    rows = ", ".join([shape.row] * len(runs))
    cursor.execute(f"{shape.insert}{rows} RETURNING order_key, id", values)
    ids = dict(cursor.fetchall())  # no database promises the order of RETURNING
    for run in runs:
        run.pk = ids[run.order_key]
        _mark_stored(connection, run)


def _mark_stored(connection, run: Run) -> None:
    run._state.adding = False
    run._state.db = connection.alias
    run.is_new = True
