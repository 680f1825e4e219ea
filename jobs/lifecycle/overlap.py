"""What happens to a slot that comes while a run of an earlier one is unfinished.

Everything here needs a transaction and the lock of the schedule. Rows of runs are locked without waiting: one that
somebody else has locked is looked at again a second later.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import IntegrityError, transaction

from jobs.core.misfire import MOST_AT_ONCE, Overlap
from jobs.core.states import FINAL, Reason, State
from jobs.lifecycle.cancel import cancel_for
from jobs.lifecycle.database import by_claim_index, lock_free
from jobs.lifecycle.enqueue import unique_hash
from jobs.lifecycle.notify import ANYBODY, notify
from jobs.lifecycle.rules import TAKES_PART
from jobs.models import Run, Schedule

# So many of the newest rows are read at first, and so many times as many as long as the last of them is unfinished.
_NEWEST, _STEP = 20, 4
# As many of them hold all that wait: beside those there are only rows that count what was skipped meanwhile.
_NEWEST_WAITING = 3 * MOST_AT_ONCE

_ROWS = (
    "SELECT id, state, reason_code, reason_json FROM jobs_run WHERE schedule_id = %s AND slot IS NOT NULL "
    f"AND {TAKES_PART} ORDER BY slot DESC LIMIT %s"
)


@dataclass(slots=True)
class _Row:
    id: int
    state: str
    reason_code: str
    reason_json: str | None

    @property
    def is_waiting_for_others(self) -> bool:
        return self.state == State.BLOCKED and self.reason_code == Reason.PREVIOUS_UNFINISHED


@dataclass(slots=True)
class Open:
    """The unfinished runs of a schedule, oldest first: those that work or may start, and those that wait for them."""

    working: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    newest: _Row | None = None  # the run, or the row that counts skipped slots, of the newest slot

    def __bool__(self):
        return bool(self.working or self.waiting)


def read_open(db, schedule: Schedule) -> Open:
    """What is unfinished now: read from the newest rows and from all that run, of which there are few."""
    rows = _newest_rows(db, schedule)
    with db.cursor() as cursor:
        of_this = f"state = 'running' AND schedule_id = %s AND {TAKES_PART}"
        cursor.execute(f"SELECT id FROM {by_claim_index(db)} WHERE {of_this}", (schedule.pk,))
        running = {row[0] for row in cursor.fetchall()}
    unfinished = [row for row in reversed(rows) if row.state not in FINAL]
    waiting = [row.id for row in unfinished if row.is_waiting_for_others]
    working = sorted(running | {row.id for row in unfinished if not row.is_waiting_for_others})
    return Open(working, waiting, rows[0] if rows else None)


def _newest_rows(db, schedule: Schedule) -> list[_Row]:
    limit = _NEWEST_WAITING if schedule.has_waiting else _NEWEST
    with db.cursor() as cursor:
        while True:
            cursor.execute(_ROWS, (schedule.pk, limit))
            rows = [_Row(*row) for row in cursor.fetchall()]
            if len(rows) < limit or rows[-1].state in FINAL:
                return rows
            limit *= _STEP


def admit(db, schedule: Schedule, now: datetime) -> int:
    """Let the next run go that waited for the ones before it, if they have ended; how many have gone."""
    found = read_open(db, schedule)
    if schedule.overlap == Overlap.REPLACE:
        ask_to_end(db, schedule, found.working)
    first = [] if found.working else found.waiting[:1]
    gone = _make_ready(db, found.waiting if schedule.overlap == Overlap.ALLOW else first, now)
    schedule.has_waiting = gone < len(found.waiting)
    return gone


def _make_ready(db, run_ids: Sequence[int], now: datetime) -> int:
    """They keep their place in the order. How many could be: not those that somebody has locked, or whose unique key
    another run holds."""
    runs = Run.objects.using(db.alias).filter(pk__in=lock_free(db, "jobs_run", run_ids), state=State.BLOCKED.value)
    gone = sum(_make_one_ready(db, run, now) for run in runs.order_by("slot"))
    if gone:
        notify(db, ANYBODY)
    return gone


def _make_one_ready(db, run: Run, now: datetime) -> bool:
    is_due = run.due_at is None or run.due_at <= now  # else its jitter is not over
    changes = {
        "state": (State.QUEUED if is_due else State.SCHEDULED).value,
        "reason_code": "",
        "reason_json": None,
        "unique_hash": unique_hash(run.task, run.unique_key or None),
    }
    try:
        with transaction.atomic(using=db.alias):
            return bool(Run.objects.using(db.alias).filter(pk=run.pk, state=State.BLOCKED.value).update(**changes))
    except IntegrityError:
        return False


def ask_to_end(db, schedule: Schedule, run_ids: Sequence[int]) -> None:
    """Cancel those of these runs that wait, and ask those that work to end."""
    _cancel(db, run_ids, f"the next slot of {schedule} has come")


def cancel_waiting(db, schedule_id: int, cause: str) -> None:
    """Cancel the runs of a schedule that wait for each other."""
    _cancel(db, list(_waiting(db).filter(schedule_id=schedule_id).values_list("pk", flat=True)), cause)


def _cancel(db, run_ids: Sequence[int], cause: str) -> None:
    for run in Run.objects.using(db.alias).filter(pk__in=lock_free(db, "jobs_run", run_ids)):
        cancel_for(run, cause)


def look_after_forgotten(db, now: datetime) -> None:
    """Runs that wait for others of a schedule that does not know of them: it was deleted by a way that told nobody, or
    somebody wrote over it."""
    known = dict.fromkeys(_waiting(db).values_list("schedule_id", flat=True))
    schedules = Schedule.objects.using(db.alias)
    known |= dict(schedules.filter(pk__in=known).values_list("pk", "has_waiting"))
    for schedule_id, has_waiting in known.items():
        if has_waiting is None:
            cancel_waiting(db, schedule_id, "its schedule was deleted")
        elif not has_waiting:
            free = lock_free(db, "jobs_schedule", [schedule_id])
            schedules.filter(pk__in=free).update(has_waiting=True, look_at=now)


def _waiting(db):
    return Run.objects.using(db.alias).filter(state=State.BLOCKED.value, reason_code=Reason.PREVIOUS_UNFINISHED.value)


def record_skipped(db, found: Open, run: Run, now: datetime) -> None:
    """Keep the slot of `run`, which is not stored, as skipped: one row for all that met the same unfinished runs."""
    beside, newest = [*found.working, *found.waiting][:5], found.newest
    before = json.loads(newest.reason_json or "{}") if newest and newest.reason_code == Reason.OVERLAP else {}
    if before.get("beside") != beside:
        end_unstarted(run, Reason.OVERLAP, slots_told(1, run.slot, run.slot) | {"beside": beside}, now)
        run.save(using=db.alias, force_insert=True)
        found.newest = _Row(run.pk, run.state, run.reason_code, run.reason_json)
        return
    newest.reason_json = json.dumps(before | {"count": before["count"] + 1, "until": moment_text(run.slot)})
    skipped = Run.objects.using(db.alias).filter(pk=newest.id)
    skipped.update(slot=run.slot, scheduled_for=run.slot, reason_json=newest.reason_json, finished_at=now)


def slots_told(count: int, first: datetime, last: datetime) -> dict:
    """What a reason tells of slots that were not run."""
    return {"count": count, "from": moment_text(first), "until": moment_text(last)}


def moment_text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def end_unstarted(run: Run, reason: Reason, arguments: dict, now: datetime) -> None:
    """Make a run that is not stored yet one that was skipped."""
    run.state = State.SKIPPED.value
    run.reason_code = reason.value
    run.reason_json = json.dumps(arguments)
    run.finished_at = now
    run.due_at = run.start_deadline_at = run.unique_hash = None
