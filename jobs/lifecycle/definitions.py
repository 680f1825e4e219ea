"""What people do to stored definitions."""

from collections.abc import Sequence

from django.db import transaction

from jobs.core import clock
from jobs.lifecycle import audit
from jobs.lifecycle.database import alias
from jobs.lifecycle.schedules import delete_schedule
from jobs.models import Job, Schedule


def save(job: Job, *, fields: Sequence[str] = (), parameters: Sequence[str] = (), actor=None, note: str = "") -> None:
    """Store a new or changed job. `fields` and `parameters` are the names of what was changed, for the audit row.

    With another function the job's schedules lose parameters of their own. A change that changed nothing leaves no
    audit row. Values are never written there.
    """
    is_new = job._state.adding
    job.updated_at = clock.now()
    job.created_at = job.created_at or job.updated_at
    with transaction.atomic(using=alias()):
        if not is_new and "task" in fields:
            # Their parameters, and the secrets in them, were meant for another function.
            Schedule.objects.using(alias()).filter(job=job).update(arguments_json=None)
        job.save(using=alias())
        if is_new:
            audit.record("add", job, actor=actor, note=note)
        else:
            audit.record_change(job, fields, parameters, actor=actor, note=note)


def delete(job: Job, *, actor=None, note: str = "") -> None:
    """Delete a job, and its schedules with it. Its runs stay, under its name."""
    with transaction.atomic(using=alias()):
        for schedule in Schedule.objects.using(alias()).filter(job=job).order_by("pk"):
            delete_schedule(schedule, actor=actor, note=note)
        audit.record("delete", job, actor=actor, note=note)
        job.delete(using=alias())


def set_enabled(job: Job, is_enabled: bool, *, actor=None, note: str = "") -> bool:
    """Enable or disable a job; whether that changed anything. A disabled job cannot be run; its runs go on."""
    with transaction.atomic(using=alias()):
        other = Job.objects.using(alias()).filter(pk=job.pk).exclude(is_enabled=is_enabled)
        changed = other.update(is_enabled=is_enabled, updated_at=clock.now())
        job.refresh_from_db(using=alias())
        if changed:
            audit.record("enable" if is_enabled else "disable", job, actor=actor, note=note)
    return bool(changed)
