"""Cancelling what has not started."""

import json
from enum import StrEnum

from django.db import transaction

from jobs.core import clock, wake
from jobs.core.states import FINAL, WAITING, Reason, State
from jobs.lifecycle import audit
from jobs.lifecycle.database import alias
from jobs.models import Run


class CancelAnswer(StrEnum):
    """What became of a request to cancel. It says what then happens, under every race with a worker."""

    CANCELLED = "cancelled"  # it had not started and never will
    RUNNING = "running"  # too late: a worker has it, and it goes on
    FINISHED = "finished"  # too late: it had ended; nothing was changed


def cancel(run: Run, *, actor=None, note: str = "") -> CancelAnswer:
    """Cancel a run that waits, and say what came of it. `run` is refreshed from the database.

    A run that a worker has taken goes on: only waiting runs can be cancelled.
    """
    _, name = audit.identify(actor)
    with transaction.atomic(using=alias()):
        cancelled = _waiting(run).update(
            state=State.CANCELLED.value,
            reason_code=Reason.CANCELLED_BY_REQUEST.value,
            reason_json=json.dumps({"by": f" by {name}" if name else ""}),
            finished_at=clock.now(),
            unique_hash=None,
        )
        run.refresh_from_db(using=alias())
        if cancelled:
            audit.record("cancel", run, actor=actor, note=note)
            transaction.on_commit(lambda: wake.finished_runs.announce([run.pk]), using=alias(), robust=True)
    if cancelled:
        return CancelAnswer.CANCELLED
    return CancelAnswer.FINISHED if run.state in FINAL else CancelAnswer.RUNNING


def _waiting(run: Run):
    return Run.objects.using(alias()).filter(pk=run.pk, state__in=sorted(WAITING))
