"""Executions that end without an outcome: their worker died, or a shutdown interrupted them."""

import json
from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from jobs.core.log import Log
from jobs.core.retry import loss_backoff
from jobs.core.states import OnLost, Reason, State, check_move
from jobs.lifecycle.claim import ClaimedRun
from jobs.lifecycle.database import REFUSALS
from jobs.lifecycle.workers import name_of
from jobs.models import Attempt, Run, Worker

logger = Log("jobs")

_COUNTERS = {
    Attempt.Outcome.LOST: ("losses", "max_losses", Reason.WORKER_LOST),
    Attempt.Outcome.INTERRUPTED: ("interruptions", "max_interruptions", Reason.INTERRUPTED),
}


def rescue(connection, dead: Collection[int], now: datetime) -> list[int]:
    """Declare workers dead and take their runs from them; returns the ids of the runs. Needs a transaction.

    Also takes the runs whose worker has no row at all. Each run stands in a savepoint of its own: one that cannot be
    written is logged and tried again at the next look, and keeps none of the others.
    """
    Worker.objects.using(connection.alias).filter(pk__in=dead).update(state=Worker.State.DEAD, stopped_at=now)
    rescued = []
    for run in _orphans(connection):
        if _alone(connection, run, Attempt.Outcome.LOST, now):
            rescued.append(run.pk)
    return rescued


def _orphans(connection):
    """The running runs whose worker is not there any more. Running rows are few, whatever the history's size."""
    present = Worker.objects.using(connection.alias).filter(state__in=Worker.PRESENT).values("pk")
    return list(
        Run.objects.using(connection.alias)
        .filter(state=State.RUNNING.value)
        .exclude(worker_id__in=present)
        .defer("arguments_json", "result_json")
    )


def interrupt(connection, runs: Collection[ClaimedRun], now: datetime) -> None:
    """Hand back claimed runs whose functions did not end before this worker had to. Needs a transaction."""
    rows = Run.objects.using(connection.alias).defer("arguments_json", "result_json").in_bulk([run.id for run in runs])
    for claimed in runs:
        row = rows.get(claimed.id)
        if row and (row.state, row.worker_id, row.claim_no) == (State.RUNNING, claimed.worker_id, claimed.claim_no):
            _alone(connection, row, Attempt.Outcome.INTERRUPTED, now)


def _alone(connection, run: Run, outcome: Attempt.Outcome, now: datetime) -> bool:
    try:
        with transaction.atomic(using=connection.alias):
            return _end_without_outcome(connection, run, outcome, now)
    except REFUSALS:
        logger.exception("run %s cannot be taken from its worker %s; it is tried again", run.pk, run.worker_id)
        return False


def _end_without_outcome(connection, run: Run, outcome: Attempt.Outcome, now: datetime) -> bool:
    changes = changes_after(run, outcome, now)
    changed = (
        Run.objects.using(connection.alias)
        .filter(pk=run.pk, state=State.RUNNING.value, worker_id=run.worker_id, claim_no=run.claim_no)
        .update(**changes)
    )
    if changed:
        _record(connection, run, outcome, now)
        logger.warning("run %s: %s (worker %s); it is now %s", run.pk, outcome.label, run.worker_id, changes["state"])
    return bool(changed)


def changes_after(run: Run, outcome: Attempt.Outcome, now: datetime) -> dict:
    """What an execution without an outcome makes of its run, by its `on_lost` and how often it has happened."""
    counter, maximum, reason = _COUNTERS[outcome]
    count, most = getattr(run, counter) + 1, getattr(run, maximum)
    changes = {
        counter: count,
        "worker_id": None,
        "reason_code": reason.value,
        "reason_json": json.dumps({"count": count, "most": most}),
    }
    if run.on_lost == OnLost.FAIL or count >= most:
        changes |= {"state": State.FAILED.value, "finished_at": now, "unique_hash": None}
        del changes["worker_id"]  # history keeps who had it last
    elif outcome == Attempt.Outcome.LOST:  # it may have killed its worker: not at once again
        changes |= {"state": State.SCHEDULED.value, "due_at": now + loss_backoff(count), "started_at": None}
    else:
        changes |= {"state": State.QUEUED.value, "started_at": None}
    check_move(State.RUNNING, State(changes["state"]))
    return changes


def _record(connection, run: Run, outcome: Attempt.Outcome, now: datetime) -> None:
    Attempt.objects.using(connection.alias).create(
        run_id=run.pk,
        number=run.attempt,
        outcome=outcome,
        worker_id=run.worker_id,
        worker_name=name_of(connection, run.worker_id),
        started_at=run.started_at,
        ended_at=now,
    )
