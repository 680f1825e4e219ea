"""Cancelling what has not started, and asking what runs to end."""

import json
from enum import StrEnum

from django.db import transaction

from jobs.core import clock, wake
from jobs.core.states import FINAL, WAITING, Reason, State
from jobs.core.texts import visible
from jobs.lifecycle import audit
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.notify import wake_on_commit
from jobs.models import Run


class CancelAnswer(StrEnum):
    """What became of a request to cancel. It says what then happens, under every race with a worker."""

    CANCELLED = "cancelled"  # it had not started and never will
    REQUESTED = "requested"  # its function works: it was asked to end, and shows as running until it does
    FINISHED = "finished"  # too late: it had ended; nothing was changed


# A worker may claim a run, or release it, in the moment between an UPDATE and the next one.
_TRIES = 100


def cancel(run: Run, *, actor=None, note: str = "") -> CancelAnswer:
    """Cancel a run that waits, or ask one that runs to end, and say what came of it. `run` is refreshed from the
    database.

    A run that was asked to end is never tried again. Its function learns of it by
    `jobs.current_run().cancel_requested`; what it does then decides how the run ends. Async functions, and those
    registered with `interrupt=True`, are made to end.
    """
    for _ in range(_TRIES):
        if _cancel_waiting(run, actor, note):
            return CancelAnswer.CANCELLED
        if _ask_running(run, actor, note):
            return CancelAnswer.REQUESTED
        if run.state in FINAL:
            break
    return CancelAnswer.FINISHED


def cancel_for(run: Run, cause: str) -> None:
    """The same because of what the site itself does: `cause` says what."""
    cancel(run, note=cause)


def _ask_running(run: Run, actor, note: str) -> bool:
    """Whether the run works and is asked to end, now or before."""
    with transaction.atomic(using=alias()):
        running = Run.objects.using(alias()).filter(pk=run.pk, state=State.RUNNING.value)
        asked = running.filter(cancel_requested_at=None).update(cancel_requested_at=clock.now())
        run.refresh_from_db(using=alias())
        if asked:
            audit.record("ask to end", run, actor=actor, note=note)
            wake_on_commit(connection(), run.queue)
    return run.state == State.RUNNING and run.cancel_requested_at is not None


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
