"""Storing the schedules that code declares: each once, ever. What people make of them afterwards stays."""

import hashlib
import json

from django.conf import settings
from django.db import transaction

from jobs.core import clock
from jobs.core.log import Log
from jobs.declared import DeclaredSchedule
from jobs.errors import JobsError
from jobs.lifecycle.database import alias
from jobs.lifecycle.faults import is_of_the_database, told
from jobs.models import Job, Schedule, SiteState
from jobs.options import NAME_LENGTH
from jobs.parameters import dumps
from jobs.registry import TaskFunction, registry

logger = Log("jobs")


def declare_schedules() -> int:
    """Store the declared schedules that were never stored before, with a job where the function has none; how many it
    were. Any number of processes may do so at once. One that cannot be stored is logged and stops no other."""
    wanted = {_key(task, each): (task, each) for task in registry for each in task.schedules}
    if not wanted:
        return 0
    known = SiteState.objects.using(alias()).filter(pk__in=wanted).values_list("pk", flat=True)
    return sum(_store_alone(key, *wanted[key]) for key in sorted(wanted.keys() - set(known)))


def _key(task: TaskFunction, declared: DeclaredSchedule) -> str:
    return "declared " + hashlib.sha256(json.dumps([task.name, declared.key]).encode()).hexdigest()


def _store_alone(key: str, task: TaskFunction, declared: DeclaredSchedule) -> bool:
    try:
        with transaction.atomic(using=alias()):
            return _store(key, task, declared)
    except Exception as error:
        if is_of_the_database(error):
            raise
        logger.error("the schedule %r of %s could not be stored: %s", declared.key, task.name, told(error))
        return False


def _store(key: str, task: TaskFunction, declared: DeclaredSchedule) -> bool:
    now = clock.now()
    fact = {"value": json.dumps({"task": task.name, "schedule": declared.key}), "updated_at": now}
    _, is_first = SiteState.objects.using(alias()).get_or_create(key=key, defaults=fact)
    if is_first:
        arguments = dumps(task.signature.bind((), dict(declared.parameters)))
        job = _job_of(task, arguments)
        schedule = Schedule(
            job=job, declared_in_code=True, created_at=now, updated_at=now, **declared.columns(settings.TIME_ZONE, now)
        )
        schedule.arguments_json = arguments if arguments != job.arguments_json else None
        schedule.save(using=alias(), force_insert=True)
    return is_first


def _job_of(task: TaskFunction, arguments_json: str) -> Job:
    """The function's job that bears its label or its name; a new one if there is none."""
    jobs, now = Job.objects.using(alias()), clock.now()
    names = [task.label, task.name, f"{task.label} ({task.name})"]
    known = {job.name: job for job in jobs.filter(name__in=names)}
    for name in names:
        if name in known and known[name].task == task.name:
            return known[name]
    free = next((name for name in names if name not in known and len(name) <= NAME_LENGTH), None)
    if free is None:
        raise JobsError(f"jobs of other functions bear all of these names: {', '.join(map(repr, names))}")
    return jobs.create(name=free, task=task.name, arguments_json=arguments_json, created_at=now, updated_at=now)
