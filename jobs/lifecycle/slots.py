"""The runs of slots."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from django.db.models import QuerySet

from jobs.core.states import Reason, State
from jobs.lifecycle.enqueue import job_options, new_run
from jobs.models import Job, Run, Schedule
from jobs.options import Options
from jobs.registry import registry


def slot_run(schedule: Schedule, job: Job, slot: datetime, now: datetime, *, place: int = 0, **options) -> Run:
    """The run of a slot, not stored yet. What its function says counts where the job says nothing; a function that is
    not registered in this process says nothing."""
    defaults = registry.get(job.task).options if job.task in registry else Options()
    chosen = replace(job_options(job, defaults), **{"run_after": _start(schedule, slot), **options})
    arguments = job.arguments_json if schedule.arguments_json is None else schedule.arguments_json
    origin = {"job_id": job.pk, "job_name": job.name, "schedule_id": schedule.pk, "slot": slot, "scheduled_for": slot}
    return new_run(job.task, arguments, chosen, now, place=place, **origin)


def _start(schedule: Schedule, slot: datetime) -> datetime:
    """The slot, moved by chance but always by the same time within its jitter."""
    if not schedule.jitter_seconds:
        return slot
    chance = Random(f"{schedule.pk} {slot.isoformat()}").random()
    return slot + timedelta(seconds=chance * schedule.jitter_seconds)


def taken_slots(db, schedule_id: int, slots: Collection[datetime]) -> set[datetime]:
    """Those of these slots that have a run."""
    return slots_with_runs(db, schedule_id, min(slots), max(slots)) & set(slots) if slots else set()


def slots_with_runs(db, schedule_id: int, first: datetime, last: datetime) -> set[datetime]:
    """The slots from `first` to `last`, both included, that have a run."""
    runs = _runs_between(db, schedule_id, first, last).exclude(**_COUNTS_SKIPPED)
    return set(runs.values_list("slot", flat=True))


def give_up_slots_of_skipped(db, schedule_id: int, first: datetime, last: datetime) -> None:
    """Of the slots that met an unfinished run the last one stands in the row that counts them all: no more."""
    _runs_between(db, schedule_id, first, last).filter(**_COUNTS_SKIPPED).update(slot=None)


# No run of its slot: the row counts slots that met an unfinished run.
_COUNTS_SKIPPED = {"state": State.SKIPPED.value, "reason_code": Reason.OVERLAP.value}


def _runs_between(db, schedule_id: int, first: datetime, last: datetime) -> QuerySet[Run]:
    return Run.objects.using(db.alias).filter(schedule_id=schedule_id, slot__gte=first, slot__lte=last)
