"""The story of one run: what happened when, as a list and as a bar."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.core import clock
from jobs.models import Attempt, Run

_BAD = (Attempt.Outcome.FAILED, Attempt.Outcome.LOST, Attempt.Outcome.INTERRUPTED)


@dataclass(frozen=True)
class Event:
    """One moment in a run's life; `kind` names its colour and sign."""

    at: datetime
    kind: str
    text: str


@dataclass(frozen=True)
class Segment:
    """A part of the bar: `start` and `width` in percent of the whole, `label` for who points at it."""

    kind: str
    start: float
    width: float
    label: str


def events(run: Run, attempts: list[Attempt]) -> list[Event]:
    """All that is known to have happened, in its order, and what is due to happen."""
    found = [Event(run.enqueued_at, "enqueued", _origin(run))]
    for attempt in attempts:
        name = f"Attempt {attempt.number}"
        if attempt.started_at:
            found.append(Event(attempt.started_at, "started", f"{name} started{_on(attempt.worker_name)}"))
        kind = "failed" if attempt.outcome in _BAD else "waiting"
        found.append(Event(attempt.ended_at, kind, f"{name}: {attempt.get_outcome_display()}"))
    if run.due_at and run.due_at > run.enqueued_at:
        found.append(Event(run.due_at, "due", "Due"))
    if run.started_at and not any(attempt.started_at == run.started_at for attempt in attempts):
        found.append(Event(run.started_at, "started", f"Attempt {run.executions} started"))
    if run.cancel_requested_at:
        found.append(Event(run.cancel_requested_at, "waiting", "Asked to end"))
    if run.finished_at:
        found.append(Event(run.finished_at, run.state, run.state.capitalize()))
    return sorted(found, key=lambda event: event.at)


def _origin(run: Run) -> str:
    by = f" by {run.submitted_by_name}" if run.submitted_by_name else ""
    return f"Enqueued{by}"


def _on(worker_name: str) -> str:
    return f" on {worker_name}" if worker_name else ""


def segments(run: Run, attempts: list[Attempt]) -> list[Segment]:
    """Waiting and working one after the other, from the enqueue to the end or to now."""
    end = max(run.finished_at or clock.now(), run.enqueued_at)
    whole = (end - run.enqueued_at) or timedelta(microseconds=1)
    bars, waiting_from = [], run.enqueued_at
    for kind, started_at, ended_at, label in _executions(run, attempts, end):
        start, stop = (min(max(each, run.enqueued_at), end) for each in (started_at, ended_at))  # clocks may disagree
        bars.append(("waiting", waiting_from, start, "Waiting"))
        bars.append((kind, start, stop, label))
        waiting_from = stop
    bars.append(("waiting", waiting_from, end, "Waiting"))
    return [
        Segment(kind, 100 * (start - run.enqueued_at) / whole, 100 * (stop - start) / whole, f"{label}: {stop - start}")
        for kind, start, stop, label in bars
        if stop > start
    ]


def _executions(run: Run, attempts: list[Attempt], end: datetime):
    for attempt in attempts:
        if attempt.started_at:
            kind = "failed" if attempt.outcome in _BAD else "ended"
            yield kind, attempt.started_at, attempt.ended_at, f"Attempt {attempt.number}"
    is_told = any(attempt.started_at == run.started_at for attempt in attempts)
    if run.started_at and not is_told:
        yield run.state, run.started_at, end, f"Attempt {run.executions}"
