"""Where the app's tables live, and how values cross over to raw SQL. Every difference between databases stands here."""

from datetime import UTC, datetime

from django.db import (
    DataError,
    IntegrityError,
    InternalError,
    NotSupportedError,
    ProgrammingError,
    connections,
    router,
)

from jobs.models import Run

# What a database raises about one row or value. The other errors are about the database itself: all is tried again.
REFUSALS = (DataError, IntegrityError, InternalError, NotSupportedError, ProgrammingError, ValueError)


def alias() -> str:
    """The name of the database that holds the runs."""
    return router.db_for_write(Run)


def connection():
    """This thread's connection to it."""
    return connections[alias()]


def db_time(connection, moment: datetime | None):
    """`moment` (aware) as a parameter of raw SQL: what UTCDateTimeField stores."""
    if moment is None:
        return None
    return connection.ops.adapt_datetimefield_value(moment.astimezone(UTC).replace(tzinfo=None))


def skip_locked(connection) -> str:
    """The clause that locks the selected rows. SQLite needs none: BEGIN IMMEDIATE is the lock."""
    if not connection.features.has_select_for_update:
        return ""
    return " " + connection.ops.for_update_sql(skip_locked=True)


def is_state(state: str) -> str:
    """A condition on the state of rows that are found by their ids. Written so that no index serves it: SQLite would
    prefer an index that begins with the state, and walk through every row that has it."""
    return f"COALESCE(state, '') = '{state}'"


def placeholders(count: int) -> str:
    return ", ".join(["%s"] * count)
