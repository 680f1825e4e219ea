"""Making runs ready whose time has come."""

from datetime import UTC, datetime

from jobs.lifecycle.database import db_time, is_state, placeholders, skip_locked

BATCH = 500

_DUE = "SELECT id FROM jobs_run WHERE state = 'scheduled' AND due_at <= %s ORDER BY due_at LIMIT %s"
_PROMOTE = f"UPDATE jobs_run SET state = 'queued' WHERE id IN ({{ids}}) AND {is_state('scheduled')}"
_NEXT_DUE = "SELECT due_at FROM jobs_run WHERE state = 'scheduled' AND due_at IS NOT NULL ORDER BY due_at LIMIT 1"


def promote(connection, now: datetime) -> int:
    """Move up to 500 due runs from scheduled to queued, where they keep their order key. Needs a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE + skip_locked(connection), (db_time(connection, now), BATCH))
        ids = [row[0] for row in cursor.fetchall()]
        if ids:
            cursor.execute(_PROMOTE.format(ids=placeholders(len(ids))), ids)
    return len(ids)


def next_due_at(connection) -> datetime | None:
    """When the next scheduled run is due; None if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_DUE)
        row = cursor.fetchone()
    if row is None:
        return None
    due = datetime.fromisoformat(row[0]) if isinstance(row[0], str) else row[0]  # SQLite stores text
    return due.replace(tzinfo=UTC)
