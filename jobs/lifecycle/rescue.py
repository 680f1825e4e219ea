"""Executions that end without an outcome: their worker died, or a shutdown interrupted them."""

import json
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from signal import Signals

from django.db import transaction

from jobs.core.log import Log
from jobs.core.retry import loss_backoff
from jobs.core.states import OnLost, Reason, State, check_move
from jobs.lifecycle.claim import ClaimedRun, running
from jobs.lifecycle.database import is_state, locked_by_others
from jobs.lifecycle.faults import is_lock_timeout, is_refusal, told
from jobs.lifecycle.notify import ANYBODY, notify
from jobs.lifecycle.outcome import Outcome
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
    written is logged and tried again at the next look, and keeps none of the others. So is one that somebody has
    locked.
    """
    _declare_dead(connection, dead, now)
    rescued = []
    orphans = _orphans(connection)
    locked = locked_by_others(connection, [run.pk for run in orphans])
    for run in orphans:
        if run.pk not in locked and _alone(connection, run, Attempt.Outcome.LOST, now):
            rescued.append(run.pk)
    return rescued


def _declare_dead(connection, dead: Collection[int], now: datetime) -> None:
    """One that stands still in the middle of a transaction has its row locked until the server ends its session: it is
    declared dead at a later look, and nobody waits for it."""
    workers = Worker.objects.using(connection.alias).filter(pk__in=dead, state__in=Worker.PRESENT)
    if connection.features.has_select_for_update:
        free = [worker.pk for worker in workers.select_for_update(skip_locked=True)] if dead else []
        workers = Worker.objects.using(connection.alias).filter(pk__in=free)
    workers.update(state=Worker.State.DEAD, stopped_at=now)


def _orphans(connection):
    """The running runs whose worker is not there any more. Running rows are few, whatever the history's size."""
    owners = running(connection)  # read first: whoever has claimed one of them is present in what is read next
    present = set(Worker.objects.using(connection.alias).filter(state__in=Worker.PRESENT).values_list("pk", flat=True))
    orphans = {run_id: worker_id for run_id, worker_id in owners.items() if worker_id not in present}
    runs = Run.objects.using(connection.alias).filter(pk__in=orphans).defer("arguments_json", "result_json")
    return [run for run in runs if run.state == State.RUNNING and run.worker_id == orphans[run.pk]]


def interrupt(connection, runs: Collection[ClaimedRun], now: datetime) -> None:
    """Hand back claimed runs whose functions did not end before this worker had to. Needs a transaction. Those that
    somebody has locked are left for others to rescue."""
    locked = locked_by_others(connection, [run.id for run in runs])
    rows = Run.objects.using(connection.alias).defer("arguments_json", "result_json").in_bulk([run.id for run in runs])
    for claimed in runs:
        row = None if claimed.id in locked else rows.get(claimed.id)
        if row and (row.state, row.worker_id, row.claim_no) == (State.RUNNING, claimed.worker_id, claimed.claim_no):
            _alone(connection, row, Attempt.Outcome.INTERRUPTED, now)
    if rows:
        notify(connection, ANYBODY)


def lose(connection, outcome: Outcome) -> bool:
    """Write that the process which executed a claimed run has ended: one lost attempt of this run. Whether the run was
    still owned under its claim. Needs a transaction."""
    run = outcome.run
    row = Run.objects.using(connection.alias).defer("arguments_json", "result_json").filter(pk=run.id).first()
    if row is None or (row.state, row.worker_id, row.claim_no) != (State.RUNNING, run.worker_id, run.claim_no):
        return False
    row.started_at = outcome.started_at
    return _end_without_outcome(connection, row, Attempt.Outcome.LOST, outcome.ended_at, outcome.exit_code)


def _alone(connection, run: Run, outcome: Attempt.Outcome, now: datetime) -> bool:
    try:
        with transaction.atomic(using=connection.alias):
            return _end_without_outcome(connection, run, outcome, now)
    except Exception as error:
        if not (is_refusal(error) or is_lock_timeout(error)):
            raise
        logger.error(
            "run %s cannot be taken from its worker %s; it is tried again (%s)", run.pk, run.worker_id, told(error)
        )
        return False


def _end_without_outcome(
    connection, run: Run, outcome: Attempt.Outcome, now: datetime, exit_code: int | None = None
) -> bool:
    owned = (
        Run.objects.using(connection.alias)
        .filter(pk=run.pk, worker_id=run.worker_id, claim_no=run.claim_no)
        .extra(where=[is_state("running")])  # as the fence: the row is locked before its index
    )
    changes = changes_after(run, outcome, now, exit_code)
    if run.cancel_requested_at is not None:
        changed = owned.update(**changes)
    elif not (changed := owned.filter(cancel_requested_at=None).update(**changes)):
        # Perhaps somebody has asked it to end since it was read.
        run.cancel_requested_at = owned.values_list("cancel_requested_at", flat=True).first()
        changes = changes_after(run, outcome, now, exit_code)
        changed = run.cancel_requested_at is not None and owned.update(**changes)
    if changed:
        _record(connection, run, outcome, now, exit_code)
        what = outcome.label if exit_code is None else f"its process ended, {how_it_ended(exit_code)}"
        logger.warning("run %s: %s (worker %s); it is now %s", run.pk, what, run.worker_id, changes["state"])
    return bool(changed)


def changes_after(run: Run, outcome: Attempt.Outcome, now: datetime, exit_code: int | None = None) -> dict:
    """What an execution without an outcome makes of its run, by its `on_lost` and how often it has happened.
    `exit_code` is that of its own process, where it had one."""
    counter, maximum, reason = _COUNTERS[outcome]
    count = getattr(run, counter) + 1
    most = 1 if run.on_lost == OnLost.FAIL else getattr(run, maximum)
    changes = {
        counter: count,
        "worker_id": None,
        "reason_code": reason.value,
        "reason_json": json.dumps({"count": count, "most": most}),
    }
    if exit_code is not None:
        changes["reason_code"] = Reason.PROCESS_ENDED.value
        changes["reason_json"] = json.dumps({"count": count, "most": most, "how": how_it_ended(exit_code)})
    is_asked_to_end = run.cancel_requested_at is not None
    if is_asked_to_end:
        changes |= {"reason_code": Reason.STOPPED_WITH_WORKER.value, "reason_json": None}
    if is_asked_to_end or count >= most:
        end = State.CANCELLED if is_asked_to_end else State.FAILED
        changes |= {"state": end.value, "finished_at": now, "unique_hash": None}
        del changes["worker_id"]  # history keeps who had it last
    elif outcome == Attempt.Outcome.LOST:  # it may have killed its worker: not at once again
        changes |= {"state": State.SCHEDULED.value, "due_at": now + loss_backoff(count), "started_at": None}
    else:
        changes |= {"state": State.QUEUED.value, "started_at": None}
    check_move(State.RUNNING, State(changes["state"]))
    return changes


def how_it_ended(exit_code: int) -> str:
    """The end of a process in words: `exit code 1`, `signal 9 (SIGKILL)`."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    with suppress(ValueError):
        return f"signal {-exit_code} ({Signals(-exit_code).name})"
    return f"signal {-exit_code}"


def _record(connection, run: Run, outcome: Attempt.Outcome, now: datetime, exit_code: int | None) -> None:
    Attempt.objects.using(connection.alias).create(
        run_id=run.pk,
        number=run.attempt,
        outcome=outcome,
        message=None if exit_code is None else f"Its process ended: {how_it_ended(exit_code)}.",
        worker_id=run.worker_id,
        worker_name=name_of(connection, run.worker_id),
        started_at=run.started_at,
        ended_at=max(now, run.started_at or now),
    )
