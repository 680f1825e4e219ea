"""Skipping what would start too late."""

from datetime import datetime

from django.db import transaction

from jobs.core import wake
from jobs.core.states import Reason, State
from jobs.lifecycle.database import hidden, lock_free
from jobs.lifecycle.free import due_by, take_free
from jobs.models import Run

BATCH = 500

_WAITING = (State.QUEUED, State.SCHEDULED, State.BLOCKED)
_LATE = "SELECT id FROM jobs_run WHERE state = {state} AND start_deadline_at < %s ORDER BY start_deadline_at LIMIT %s"
_NEXT = (
    "SELECT start_deadline_at AS moment FROM jobs_run WHERE state = {state} "
    "AND start_deadline_at >= '0001-01-01 00:00:00' ORDER BY start_deadline_at LIMIT 1"
)
NEXT_DEADLINES = tuple(_NEXT.format(state=hidden(state)) for state in _WAITING)


def skip_late(db, now: datetime) -> int:
    """End up to BATCH waiting runs of each state whose start deadline has passed; how many it were. Needs a
    transaction. Those that somebody has locked are left for later."""
    late = [run_id for state in _WAITING for run_id in _locked(db, state, now)]
    if not late:
        return 0
    runs = Run.objects.using(db.alias).filter(pk__in=late, state__in=[state.value for state in _WAITING])
    skipped = runs.update(
        state=State.SKIPPED.value,
        reason_code=Reason.DEADLINE_PASSED.value,
        reason_json=None,
        finished_at=now,
        unique_hash=None,
    )
    transaction.on_commit(lambda: wake.finished_runs.announce(late), using=db.alias, robust=True)
    return skipped


def _locked(db, state: State, now: datetime) -> list[int]:
    late = due_by(db, _LATE.format(state=hidden(state)), now)
    return take_free(BATCH, late, lambda run_ids: lock_free(db, "jobs_run", run_ids))
