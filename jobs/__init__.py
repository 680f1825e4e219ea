"""A durable, exactly prioritised job queue for Django.

    import jobs

    @jobs.register(priority=10)
    def backfill(day: date) -> int: ...

    run = backfill.enqueue(date(2026, 11, 1))

Importing this package imports neither Django nor models: `jobs.core` is used without Django, and a tasks module may be
imported at any time. The names below are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobs.core.retry import Backoff
    from jobs.declared import schedule
    from jobs.errors import (
        Cancelled,
        ForcedStop,
        GiveUp,
        JobsError,
        NotRegistered,
        ParameterError,
        RegistrationError,
        Retry,
        Snooze,
        TimedOut,
    )
    from jobs.registry import TaskFunction, register
    from jobs.runtime.context import current_run

_HOMES = {
    "Backoff": "jobs.core.retry",
    "Cancelled": "jobs.errors",
    "ForcedStop": "jobs.errors",
    "GiveUp": "jobs.errors",
    "JobsError": "jobs.errors",
    "NotRegistered": "jobs.errors",
    "ParameterError": "jobs.errors",
    "RegistrationError": "jobs.errors",
    "Retry": "jobs.errors",
    "Snooze": "jobs.errors",
    "TaskFunction": "jobs.registry",
    "TimedOut": "jobs.errors",
    "current_run": "jobs.runtime.context",
    "register": "jobs.registry",
    "schedule": "jobs.declared",
}

__all__ = [
    "Backoff",
    "Cancelled",
    "ForcedStop",
    "GiveUp",
    "JobsError",
    "NotRegistered",
    "ParameterError",
    "RegistrationError",
    "Retry",
    "Snooze",
    "TaskFunction",
    "TimedOut",
    "current_run",
    "enqueue",
    "register",
    "schedule",
]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def enqueue(name: str, /, *args, **parameters):
    """Store a run of the task function called `name` and return it; NotRegistered if there is none."""
    from jobs.registry import registry

    return registry.get(name).enqueue(*args, **parameters)
