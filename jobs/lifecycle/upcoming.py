"""When the next thing is due: one question for all that have their time."""

from datetime import datetime

from jobs.lifecycle import deadline, fire, promote
from jobs.lifecycle.database import moment_of

_PARTS = (promote.NEXT_DUE, *deadline.NEXT_DEADLINES, fire.NEXT_LOOK)


def _union(moment: str) -> str:
    return " UNION ALL ".join(f"SELECT {moment} FROM ({part}) AS part_{place}" for place, part in enumerate(_PARTS))


# As texts where a moment may be what Python cannot read (see `planning`).
_NEXT, _NEXT_ON_MARIADB = _union("CAST(moment AS TEXT)"), _union("moment")


def next_moment(connection) -> datetime | None:
    """When the next delayed run, start deadline or schedule is due; None if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_ON_MARIADB if connection.vendor == "mysql" else _NEXT)
        return min(filter(None, map(_moment, cursor.fetchall())), default=None)


def _moment(row: tuple) -> datetime | None:
    """None for what is no moment: `planning` tells of it."""
    try:
        return moment_of(row[0])
    except ValueError:
        return None
