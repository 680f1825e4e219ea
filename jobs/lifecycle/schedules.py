"""What people do to schedules."""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice, takewhile

from django.db import transaction

from jobs.core import clock
from jobs.core.recurrence import just_before
from jobs.errors import JobsError
from jobs.lifecycle import audit, rules
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.enqueue import check_enabled
from jobs.lifecycle.insert import insert_many
from jobs.lifecycle.notify import ANYBODY, wake_on_commit
from jobs.lifecycle.overlap import cancel_waiting
from jobs.lifecycle.slots import give_up_slots_of_skipped, slot_run, taken_slots
from jobs.models import Run, Schedule

MOST_SLOTS = 10_000


class TooManySlots(JobsError, ValueError):
    """A backfill of more slots than one call may fill in."""


class InTheFuture(JobsError, ValueError):
    """Only slots that have passed can be filled in: those to come are the schedule's own."""


def save_schedule(
    schedule: Schedule, *, fields: Sequence[str] = (), parameters: Sequence[str] = (), actor=None, note: str = ""
) -> None:
    """Store a new or changed schedule; where its rule or its being enabled was changed it counts from now on. `fields`
    and `parameters` are the names of what was changed, for the audit row. Raises RuleError for a rule that is none."""
    schedule.recurrence  # noqa: B018
    is_new, schedule.updated_at = schedule._state.adding, clock.now()
    schedule.created_at = schedule.created_at or schedule.updated_at
    with transaction.atomic(using=alias()):
        schedule.save(using=alias())
        if is_new:
            audit.record("add", schedule, actor=actor, note=note, job=schedule.job_id)
        else:
            audit.record_change(schedule, fields, parameters, actor=actor, note=note)
        wake_on_commit(connection(), ANYBODY)


def delete_schedule(schedule: Schedule, *, actor=None, note: str = "") -> None:
    """Delete a schedule. Its runs stay; those that wait for the ones before them are cancelled."""
    with transaction.atomic(using=alias()):
        _locked(schedule)
        audit.record("delete", schedule, actor=actor, note=note)
        cancel_waiting(connection(), schedule.pk, "its schedule was deleted")
        schedule.delete(using=alias())
        wake_on_commit(connection(), ANYBODY)


def set_schedule_enabled(schedule: Schedule, is_enabled: bool, *, actor=None, note: str = "") -> bool:
    """Enable or disable a schedule; whether that changed anything. Slots that pass meanwhile are not missed."""
    with transaction.atomic(using=alias()):
        other = Schedule.objects.using(alias()).select_for_update().filter(pk=schedule.pk, is_enabled=not is_enabled)
        if (stored := other.first()) is not None:
            stored.is_enabled, stored.updated_at = is_enabled, clock.now()
            stored.save(using=alias())
            audit.record("enable" if is_enabled else "disable", stored, actor=actor, note=note)
            wake_on_commit(connection(), ANYBODY)
    schedule.refresh_from_db(using=alias())
    return stored is not None


def slots_between(schedule: Schedule, start: datetime, until: datetime) -> list[datetime]:
    """The slots from `start` to `until`, both included. Raises TooManySlots beyond 10,000, RuleError, ValueError
    for a start after the end."""
    if start > until:
        raise ValueError(
            f"Expected a start that is not after the end, got {start.isoformat()} and {until.isoformat()}."
        )
    slots = takewhile(until.__ge__, schedule.recurrence.after(just_before(start)))
    found = list(islice(slots, MOST_SLOTS + 1))
    if len(found) > MOST_SLOTS:
        raise TooManySlots(f"Expected at most {MOST_SLOTS:,} slots, and these are more. Take a shorter time.")
    return found


def open_slots(schedule: Schedule, slots: Sequence[datetime]) -> list[datetime]:
    """Those of these slots that have no run."""
    taken = taken_slots(connection(), schedule.pk, slots)
    return [slot for slot in slots if slot not in taken]


def backfill(
    schedule: Schedule, start: datetime, until: datetime, *, priority: int | None = None, actor=None, note: str = ""
) -> list[Run]:
    """Store runs of the past slots from `start` to `until`, both included, that have none yet: each once, all or none.

    `priority` (-100..100) comes in the place of the job's. Returns the new runs, which keep the order of their slots
    inside one priority; a unique key of the job does not hold them up. Raises InTheFuture, JobDisabled, and what
    `slots_between` raises.
    """
    now = clock.now()
    if until > now:
        raise InTheFuture(
            f"Expected an end that has passed, got {until.isoformat()}; the schedule runs later slots itself."
        )
    options = {"run_after": None, "unique_key": None} | ({} if priority is None else {"priority": priority})
    with transaction.atomic(using=alias()):
        schedule = _locked(schedule)
        check_enabled(schedule.job)
        slots = open_slots(schedule, slots_between(schedule, start, until))
        if slots:
            give_up_slots_of_skipped(connection(), schedule.pk, slots[0], slots[-1])
        runs = [slot_run(schedule, schedule.job, slot, now, place=place, **options) for place, slot in enumerate(slots)]
        for run in runs:
            run.options_json = rules.with_others(run.options_json, **rules.FILLED_IN)
        insert_many(connection(), runs)
        details = {"from": start.isoformat(), "until": until.isoformat(), "runs": len(runs)}
        audit.record("backfill", schedule, actor=actor, note=note, **details)
        if runs:
            wake_on_commit(connection(), runs[0].queue)
    return runs


def _locked(schedule: Schedule) -> Schedule:
    """The schedule as it is now, locked: nobody fires it meanwhile. Schedule.DoesNotExist if it was deleted."""
    return Schedule.objects.using(alias()).select_for_update().get(pk=schedule.pk)
