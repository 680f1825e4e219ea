"""Making runs ready whose time has come."""

from datetime import datetime

from jobs.lifecycle.database import by_id, hidden, is_state, placeholders, skip_locked
from jobs.lifecycle.free import due_by, take_free
from jobs.lifecycle.notify import ANYBODY, notify

BATCH = 500

_DUE = f"SELECT id FROM jobs_run WHERE state = {hidden('scheduled')} AND due_at <= %s ORDER BY due_at LIMIT %s"
_LOCK = f"SELECT id FROM {{runs}} WHERE id IN ({{ids}}) AND {is_state('scheduled')}"
_PROMOTE = f"UPDATE {{runs}} SET state = 'queued' WHERE id IN ({{ids}}) AND {is_state('scheduled')}"
NEXT_DUE = (
    f"SELECT due_at AS moment FROM jobs_run WHERE state = {hidden('scheduled')} AND due_at IS NOT NULL "
    "ORDER BY due_at LIMIT 1"
)


def promote(connection, now: datetime) -> int:
    """Move up to BATCH due runs from scheduled to queued, where they keep their order key. Needs a transaction.

    Returns how many it were: BATCH means that there may be more, among them the most urgent one.
    """
    runs = by_id(connection)
    with connection.cursor() as cursor:

        def make_ready(run_ids: list[int]) -> list[int]:
            if not run_ids:
                return []
            cursor.execute(_LOCK.format(runs=runs, ids=placeholders(len(run_ids))) + skip_locked(connection), run_ids)
            free = [row[0] for row in cursor.fetchall()]
            if free:
                cursor.execute(_PROMOTE.format(runs=runs, ids=placeholders(len(free))), free)
                notify(connection, ANYBODY)
            return free

        return len(take_free(BATCH, due_by(connection, _DUE, now), make_ready))
