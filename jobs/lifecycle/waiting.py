"""Waiting for the end of a run."""

import time

from django.db import connections

from jobs.core import wake
from jobs.errors import JobsError
from jobs.lifecycle.database import alias
from jobs.models import Run

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5


class WaitInTransaction(JobsError):
    """Inside a transaction one would wait for ever: the worker cannot see what is not committed."""


def wait(run: Run, *, timeout: float | None = None) -> Run:
    """Block until `run` has ended, refresh it from the database and return it.

    `timeout` in seconds, None for no limit; TimeoutError when it passes. WaitInTransaction inside `atomic()`.
    """
    if connections[alias()].in_atomic_block:
        raise WaitInTransaction(f"Wait for run {run.pk} after the transaction, not inside atomic().")
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = FIRST_PAUSE
    with wake.finished_runs.watch(run.pk) as finished:
        while True:
            run.refresh_from_db(using=alias())
            if run.is_finished:
                return run
            finished.wait(_shorter(pause, deadline, run))
            pause = min(2 * pause, LONGEST_PAUSE)


def _shorter(pause: float, deadline: float | None, run: Run) -> float:
    if deadline is None:
        return pause
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"Run {run.pk} is still {run.state}.")
    return min(pause, left)
