"""Storing requests: one INSERT in the caller's transaction, then a wake-up once it is committed."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from jobs.conf import get_settings
from jobs.core import clock
from jobs.core.order import order_key
from jobs.core.retry import Backoff
from jobs.core.states import State
from jobs.errors import JobsError, ParameterError
from jobs.lifecycle import audit, rules
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.insert import insert, insert_many
from jobs.lifecycle.notify import wake_on_commit
from jobs.models import Job, Run
from jobs.options import LONGEST, USING_OPTIONS, Options, check_options
from jobs.parameters import dumps
from jobs.registry import TaskFunction, registry

_MICROSECOND = timedelta(microseconds=1)
_UNIQUE_TRIES = 5
_SHARED = "SELECT * FROM jobs_run WHERE unique_hash = %s LOCK IN SHARE MODE"


class JobDisabled(JobsError):
    """The job is disabled, so nothing of it can be started."""


def enqueue(task: TaskFunction, arguments: dict, options: Options, *, actor=None, note: str = "", **origin) -> Run:
    """Store a run of `task` and return it.

    `arguments` are JSON values by name, as `task.signature.bind` gives them. The row belongs to the caller's
    transaction: rolled back with it, visible to workers once it is committed. With a `unique_key` whose run is
    unfinished that run is returned, with `is_new` False, and nothing is stored. `origin` is passed to `new_run`.
    """
    run = new_run(task.name, dumps(arguments), options, clock.now(), **{**submitted_by(actor), **origin})
    if actor is None:
        return store(run)
    with transaction.atomic(using=alias()):
        run = store(run)
        audit.record("enqueue", run, actor=actor, note=note)
    return run


def enqueue_many(
    task: TaskFunction, arguments: Sequence[dict], options: Options, *, actor=None, note: str = ""
) -> list[Run]:
    """Store a run for each dict of JSON arguments, all or none, in their order inside one priority."""
    with transaction.atomic(using=alias()):
        if options.unique_key is not None:
            return [enqueue(task, each, options, actor=actor, note=note) for each in arguments]
        now, origin = clock.now(), submitted_by(actor)
        runs = [
            new_run(task.name, dumps(each), options, now, place=place, **origin) for place, each in enumerate(arguments)
        ]
        insert_many(connection(), runs)
        audit.record_many("enqueue", runs, actor=actor, note=note)
        if runs:
            wake_on_commit(connection(), options.queue)
        return runs


def enqueue_job(
    job: Job, *, arguments: dict | None = None, options: dict | None = None, actor=None, note: str = ""
) -> Run:
    """Store a run of a stored definition and return it.

    `arguments` (values by name) come in the place of all its stored parameters, `options` (as of `using`) in the place
    of its options of the same name. Raises NotRegistered when this process does not know the job's function,
    ParameterError when the parameters do not fit it, JobDisabled when the job is disabled, TypeError or ValueError for
    an unknown option or a bad value.
    """
    check_enabled(job)
    check_options(options or {}, allowed=USING_OPTIONS)
    task = registry.get(job.task)
    given = task.signature.bind((), _stored_arguments(job) if arguments is None else arguments)
    chosen = replace(job_options(job, task.options), **(options or {}))
    origin = {"job_id": job.pk, "job_name": job.name, **submitted_by(actor)}
    with transaction.atomic(using=alias()):
        run = enqueue(task, given, chosen, **origin)
        audit.record("run", job, actor=actor, note=note, run=run.pk)
    return run


def check_enabled(job: Job) -> None:
    """Raise JobDisabled if nothing of this job may be started."""
    if not job.is_enabled:
        raise JobDisabled(f"The job {job.name!r} is disabled. Enable it before you run it.")


def _stored_arguments(job: Job) -> dict:
    try:
        return dict(job.arguments)
    except (TypeError, ValueError):
        problem = f"the stored parameters of the job {job.name!r} are no JSON object; edit the job"
        raise ParameterError(job.task, {"": problem}) from None


def submitted_by(actor) -> dict[str, str]:
    """The columns that tell who asked for a run."""
    key, name = audit.identify(actor)
    return {"submitted_by_key": key, "submitted_by_name": name}


def job_options(job: Job, defaults: Options) -> Options:
    """The options of a job's runs: its own where it has them, else those of its function."""
    return Options(
        priority=defaults.priority if job.priority is None else job.priority,
        queue=job.queue or defaults.queue,
        on_lost=job.on_lost or defaults.on_lost,
        max_losses=job.max_losses or defaults.max_losses,
        max_attempts=job.max_attempts or defaults.max_attempts,
        backoff=_backoff(job) or defaults.backoff,
        timeout=_duration(job, "timeout", job.timeout_seconds) or defaults.timeout,
        progress_timeout=defaults.progress_timeout,
        executor=job.executor or defaults.executor,
        unique_key=job.unique_key or defaults.unique_key,
        start_deadline=_duration(job, "start_deadline", job.start_deadline_seconds) or defaults.start_deadline,
    )


def _backoff(job: Job) -> Backoff | None:
    try:
        return job.backoff
    except (TypeError, ValueError) as error:
        raise ValueError(f"The backoff of the job {job.name!r} cannot be read ({error}). Edit the job.") from None


def _duration(job: Job, option: str, seconds: float | None) -> timedelta | None:
    if seconds is None:
        return None
    try:
        duration = timedelta(seconds=seconds)
        check_options({option: duration}, allowed=(option,))
    except (ValueError, OverflowError):
        expected = f"above 0 seconds, at most {LONGEST[option].days} days"
        raise ValueError(f"The {option} of the job {job.name!r} must be {expected}, got {seconds} seconds.") from None
    return duration


def store(run: Run) -> Run:
    """Insert a prepared run and wake the dispatcher at commit; see `enqueue` for `unique_key`."""
    run = insert_new(run)
    if run.is_new:
        wake_on_commit(connection(), run.queue)
    return run


def _insert(run: Run) -> Run:
    insert(connection(), run)
    return run


def insert_new(run: Run) -> Run:
    """Insert a prepared run and return it, or the unfinished run that holds its unique key."""
    return insert_unique(run) if run.unique_hash else _insert(run)


def insert_unique(run: Run) -> Run:
    """The INSERT decides who is first; the savepoint keeps the caller's transaction alive when it is somebody else."""
    if connection().vendor == "mysql" and (holder := _unfinished(run.unique_hash).first()) is not None:
        return holder  # an INSERT that meets it would lock it until the caller commits, and nobody could finish it
    for tries_left in reversed(range(_UNIQUE_TRIES)):
        try:
            with transaction.atomic(using=alias()):
                return _insert(run)
        except IntegrityError:
            if (holder := _holder(run.unique_hash)) is not None:
                return holder
            if not tries_left:  # each time the holder ended in between; or it is another constraint
                raise
    return run


def _holder(unique_hash: str) -> Run | None:
    unfinished = _unfinished(unique_hash)
    with transaction.atomic(using=alias()):
        holder = unfinished.first()
        if holder is None and connection().vendor == "mysql":
            # It is younger than the caller's view of the data (REPEATABLE READ): only a lock shows it, the same kind of
            # lock that the INSERT has left there. Two who had that one and asked for more would block each other.
            holder = next(iter(Run.objects.using(alias()).raw(_SHARED, [unique_hash])), None)
    return holder


def _unfinished(unique_hash: str) -> QuerySet:
    return Run.objects.using(alias()).filter(unique_hash=unique_hash)


def new_run(task_name: str, arguments_json: str, options: Options, now: datetime, *, place: int = 0, **origin) -> Run:
    """A run that is not stored yet. `place` counts the runs of one call, each of which gets a microsecond of its own;
    `origin` sets columns that tell where it comes from, such as `rerun_of_id`."""
    check_options({"priority": options.priority}, allowed=("priority",))
    due_at = due(options.run_after, now)
    is_due = due_at is None or due_at <= now
    ready_at = _later(now if is_due else due_at, place * _MICROSECOND)
    return Run(
        task=task_name,
        arguments_json=arguments_json,
        state=State.QUEUED.value if is_due else State.SCHEDULED.value,
        queue=options.queue,
        priority=options.priority,
        effective_priority=options.priority,
        ready_at=ready_at,
        order_key=order_key(options.priority, ready_at, get_settings().ageing),
        enqueued_at=now,
        due_at=due_at,
        start_deadline_at=_deadline(options, due_at or now),
        on_lost=str(options.on_lost),
        max_losses=options.max_losses,
        max_attempts=options.max_attempts,
        timeout_seconds=None if options.timeout is None else options.timeout.total_seconds(),
        options_json=rules.stored(options),
        executor=options.executor,
        unique_key=options.unique_key or "",
        unique_hash=unique_hash(task_name, options.unique_key),
        **origin,
    )


def _deadline(options: Options, due_at: datetime) -> datetime | None:
    if options.start_deadline is None:
        return None
    try:
        return due_at + options.start_deadline
    except OverflowError:
        raise ValueError(
            f"start_deadline must end before the year 10000, got {options.start_deadline} after {due_at.isoformat()}."
        ) from None


def due(run_after: datetime | timedelta | None, now: datetime) -> datetime | None:
    """The moment that `run_after` means, in UTC. ValueError if it lies outside the calendar."""
    if run_after is None:
        return None
    if isinstance(run_after, timedelta):
        return _later(now, run_after)
    try:
        if timezone.is_naive(run_after):
            run_after = timezone.make_aware(run_after, timezone.get_default_timezone())
        return run_after.astimezone(UTC)
    except OverflowError:
        raise _outside_calendar(run_after) from None


def _later(moment: datetime, delay: timedelta) -> datetime:
    try:
        return moment + delay
    except OverflowError:
        raise _outside_calendar(delay) from None


def _outside_calendar(run_after) -> ValueError:
    return ValueError(f"run_after must lead to a moment in the years 1 to 9999 UTC, got {run_after!r}.")


def unique_hash(scope: str, key: str | None) -> str | None:
    """What the UNIQUE column compares: of one length and exact on every database, whatever its collation."""
    if key is None:
        return None
    return hashlib.sha256(json.dumps([scope, key]).encode()).hexdigest()
