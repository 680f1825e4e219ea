"""Repeating what has ended: always a new run, linked to the old one."""

import hashlib
from dataclasses import replace
from datetime import timedelta

from django.db import transaction
from django.db.models import F

from jobs.core import clock
from jobs.errors import JobsError
from jobs.lifecycle import audit, rules
from jobs.lifecycle.database import alias
from jobs.lifecycle.enqueue import new_run, store, submitted_by
from jobs.models import Run
from jobs.options import USING_OPTIONS, Options, check_options
from jobs.parameters import dumps
from jobs.registry import registry


class NotFinished(JobsError):
    """Only a run that has ended can be run again."""


def run_again(
    run: Run,
    *,
    arguments: dict | None = None,
    options: dict | None = None,
    press: str = "",
    actor=None,
    note: str = "",
) -> Run:
    """Store a new run with the parameters and options of `run` and return it. The old one stays as it is.

    `arguments` (values by name) come in the place of all the old parameters, `options` (as of `using`) in the place of
    the old ones of the same name. `press` (any text) names one press of a button: called again with it and the same
    arguments and options, it returns the run of the first time, with `is_of_earlier_press`.

    Raises NotFinished while `run` (as the database has it now) is still to end; with `arguments` ParameterError if they
    do not fit the function, NotRegistered if this process does not know it; with `options` TypeError or ValueError for
    an unknown one or a bad value.
    """
    check_options(options or {}, allowed=USING_OPTIONS)
    run.refresh_from_db(using=alias())
    if not run.is_finished:
        raise NotFinished(f"Run {run.pk} is still {run.state}: it can be run again once it has ended.")
    copy = new_run(
        run.task,
        run.arguments_json if arguments is None else _bound(run.task, arguments),
        replace(options_of(run), **(options or {})),
        clock.now(),
        job_id=run.job_id,
        job_name=run.job_name,
        scheduled_for=run.scheduled_for,
        rerun_of_id=run.pk,
        **submitted_by(actor),
    )
    with transaction.atomic(using=alias()):
        if press:
            mark = _mark(press, copy.arguments_json, repr(sorted((options or {}).items())))
            if pressed := _pressed_before(run, mark):
                pressed.is_of_earlier_press = True
                return pressed
            copy.options_json = rules.with_others(copy.options_json, press=mark)
        copy = store(copy)
        audit.record("run again", run, actor=actor, note=note, run=copy.pk)
    return copy


def _mark(*texts: str) -> str:
    """What a press is known by, together with what it asks for: who goes back, edits and presses again wants that."""
    return hashlib.sha256("\0".join(texts).encode(errors="replace")).hexdigest()[:32]


def _pressed_before(run: Run, mark: str) -> Run | None:
    """The repetition that this press has made already. Whoever comes second waits here for who came first."""
    runs = Run.objects.using(alias())
    runs.filter(pk=run.pk).update(claim_no=F("claim_no"))  # a lock, on SQLite as well
    of_press = runs.filter(rerun_of_id=run.pk, options_json__contains=f'"press":"{mark}"')
    return of_press.select_for_update().first()  # with a lock it sees what was committed meanwhile


def _bound(task: str, arguments: dict) -> str:
    return dumps(registry.get(task).signature.bind((), arguments))


def options_of(run: Run) -> Options:
    """The options that a run was stored with, and its repetitions get."""
    return Options(
        priority=run.priority,
        queue=run.queue,
        on_lost=run.on_lost,
        max_losses=run.max_losses,
        max_attempts=run.max_attempts,
        backoff=rules.backoff(run.options_json),
        timeout=_timeout(run),
        progress_timeout=rules.progress_timeout(run.options_json),
        executor=run.executor,
        unique_key=run.unique_key or None,
        start_deadline=_allowed_wait(run),
    )


def _timeout(run: Run) -> timedelta | None:
    """None also where somebody has written what is no duration."""
    try:
        return timedelta(seconds=run.timeout_seconds) if run.timeout_seconds else None
    except (ValueError, OverflowError):
        return None


def _allowed_wait(run: Run) -> timedelta | None:
    deadline, since = run.start_deadline_at, run.due_at or run.enqueued_at
    return deadline - since if deadline is not None and deadline > since else None
