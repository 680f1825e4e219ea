"""Repeating what has ended: always a new run, linked to the old one."""

from django.db import transaction

from jobs.core import clock
from jobs.errors import JobsError
from jobs.lifecycle import audit
from jobs.lifecycle.database import alias
from jobs.lifecycle.enqueue import new_run, store, submitted_by
from jobs.models import Run
from jobs.options import Options


class NotFinished(JobsError):
    """Only a run that has ended can be run again."""


def run_again(run: Run, *, actor=None, note: str = "") -> Run:
    """Store a new run with the parameters and options of `run` and return it. The old one stays as it is.

    Raises NotFinished while `run` (as the database has it now) is still to end.
    """
    run.refresh_from_db(using=alias())
    if not run.is_finished:
        raise NotFinished(f"Run {run.pk} is still {run.state}: it can be run again once it has ended.")
    copy = new_run(
        run.task,
        run.arguments_json,
        _options_of(run),
        clock.now(),
        job_id=run.job_id,
        job_name=run.job_name,
        scheduled_for=run.scheduled_for,
        rerun_of_id=run.pk,
        **submitted_by(actor),
    )
    with transaction.atomic(using=alias()):
        copy = store(copy)
        audit.record("run again", run, actor=actor, note=note, run=copy.pk)
    return copy


def _options_of(run: Run) -> Options:
    return Options(
        priority=run.priority,
        queue=run.queue,
        on_lost=run.on_lost,
        max_losses=run.max_losses,
        unique_key=run.unique_key or None,
    )
