"""Cancelling what has not started."""

import json
from enum import StrEnum

from django.db import transaction

from jobs.core import clock, wake
from jobs.core.states import FINAL, WAITING, Reason, State
from jobs.core.texts import visible
from jobs.lifecycle import audit
from jobs.lifecycle.database import alias
from jobs.models import Run


class CancelAnswer(StrEnum):
    """What became of a request to cancel. It says what then happens, under every race with a worker."""

    CANCELLED = "cancelled"  # it had not started and never will
    RUNNING = "running"  # too late: a worker has it, and it goes on
    FINISHED = "finished"  # too late: it had ended; nothing was changed


# A worker may release a run in the moment between the UPDATE, which found it running, and the look at it.
_TRIES = 5


def cancel(run: Run, *, actor=None, note: str = "") -> CancelAnswer:
    """Cancel a run that waits, and say what came of it. `run` is refreshed from the database.

    A run that a worker has taken goes on: only waiting runs can be cancelled.
    """
    for _ in range(_TRIES):
        if _cancel_waiting(run, actor, note):
            return CancelAnswer.CANCELLED
        if run.state not in WAITING:
            break
    return CancelAnswer.FINISHED if run.state in FINAL else CancelAnswer.RUNNING


def cancel_for(run: Run, cause: str) -> None:
    """Cancel a run that waits, or ask one that runs to end (see `jobs.current_run().cancel_requested`), because of what
    the site itself does: `cause` says what."""
    if not _cancel_waiting(run, None, cause):
        running = Run.objects.using(alias()).filter(pk=run.pk, state=State.RUNNING.value, cancel_requested_at=None)
        running.update(cancel_requested_at=clock.now())


def _cancel_waiting(run: Run, actor, note: str) -> bool:
    with transaction.atomic(using=alias()):
        cancelled = (
            Run.objects.using(alias())
            .filter(pk=run.pk, state__in=sorted(WAITING))
            .update(
                state=State.CANCELLED.value,
                reason_code=Reason.CANCELLED_BY_REQUEST.value,
                reason_json=json.dumps({"by": _by(actor, note)}),
                finished_at=clock.now(),
                unique_hash=None,
            )
        )
        run.refresh_from_db(using=alias())
        if cancelled:
            audit.record("cancel", run, actor=actor, note=note)
            transaction.on_commit(lambda: wake.finished_runs.announce([run.pk]), using=alias(), robust=True)
    return bool(cancelled)


def _by(actor, note: str) -> str:
    """Who, and why, as the reason tells it."""
    _, name = audit.identify(actor)
    return (f" by {name}" if name else "") + (f": {visible(note).rstrip('.')}" if note else "")
