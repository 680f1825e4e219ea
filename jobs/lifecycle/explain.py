"""Why a run waits, in sentences for people."""

from datetime import timedelta

from jobs.core import clock
from jobs.core.states import State
from jobs.lifecycle import rules
from jobs.lifecycle.database import alias
from jobs.lifecycle.status import is_alive
from jobs.models import Queue, Run, Worker

MOST_COUNTED = 1000
_REPORTED_WITHIN = timedelta(seconds=2)  # progress is stored once a second


def why_waiting(run: Run) -> list[str]:
    """What keeps a waiting run from starting, the most telling first; empty for runs that do not wait."""
    if run.state == State.SCHEDULED:
        return ["Its time has not come yet."]
    if run.state == State.BLOCKED:
        return [run.reason] if run.reason else []
    if run.state != State.QUEUED:
        return []
    causes, ahead = [*_pause(run), *_workers(run)], _count_ahead(run)
    return causes if causes and not ahead else [*causes, _place(ahead)]


def still_running(run: Run) -> list[str]:
    """Why a run that still works should have ended; empty for all others."""
    if run.state != State.RUNNING:
        return []
    sentences = []
    if run.cancel_requested_at is not None:
        sentences.append("It was asked to end. It works until its function does.")
    if overdue := _overdue(run):
        sentences.append(overdue)
    return sentences


def _overdue(run: Run) -> str:
    """By the times in its row: the worker itself measures on its own clock."""
    now, started_at = clock.now(), run.started_at or clock.now()
    if run.timeout_seconds and (now - started_at).total_seconds() > run.timeout_seconds:
        return f"It has timed out and still works: it may take {run.timeout_seconds:g} seconds."
    quiet = rules.progress_timeout(run.options_json)
    if quiet and now - max(started_at, run.progress_at or started_at) - _REPORTED_WITHIN > quiet:
        return f"It seems stuck and still works: it has told no progress for {quiet.total_seconds():g} seconds."
    return ""


def _pause(run: Run) -> list[str]:
    queue = Queue.objects.using(alias()).filter(name=run.queue, is_paused=True).first()
    if queue is None:
        return []
    by = f" by {queue.paused_by_name}" if queue.paused_by_name else ""
    reason = f": {queue.paused_reason}" if queue.paused_reason else ""
    return [f"Its queue {run.queue} was paused{by}{reason}."]


def _workers(run: Run) -> list[str]:
    alive = [worker for worker in Worker.objects.using(alias()).filter(state=Worker.State.ALIVE) if is_alive(worker)]
    if not alive:
        return ["Nobody works: no worker has given a sign of life lately."]
    if not any(worker.serves(run.queue) for worker in alive):
        return [f"No worker that is alive serves its queue {run.queue}."]
    return []


def _count_ahead(run: Run) -> int:
    """How many runs of its queue start before it, or MOST_COUNTED if they are more."""
    queued = Run.objects.using(alias()).filter(state=State.QUEUED.value, queue=run.queue)
    same_key = queued.filter(order_key=run.order_key, pk__lt=run.pk)
    more_urgent = queued.filter(order_key__lt=run.order_key)
    return min(MOST_COUNTED, more_urgent[:MOST_COUNTED].count() + same_key[:MOST_COUNTED].count())


def _place(ahead: int) -> str:
    if not ahead:
        return "It is the next of its queue."
    if ahead == MOST_COUNTED:
        return f"{MOST_COUNTED} runs or more of its queue come before it."
    return f"{ahead} {'run' if ahead == 1 else 'runs'} of its queue come{'s' if ahead == 1 else ''} before it."
