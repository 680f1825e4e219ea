"""Waiting for the end of a run."""

import time

from django.db import connections

from jobs.core import crew, wake
from jobs.errors import JobsError
from jobs.lifecycle.database import alias
from jobs.models import Run

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5


class WaitInTransaction(JobsError):
    """Inside a transaction one would wait for ever: the worker cannot see what is not committed."""


class NoFreeThread(JobsError):
    """A run that waits for another one keeps its thread: if no other is left, both would wait for ever."""


def wait(run: Run, *, timeout: float | None = None) -> Run:
    """Block until `run` has ended, refresh it from the database and return it.

    `timeout` in seconds, None for no limit; TimeoutError when it passes. WaitInTransaction inside `atomic()`. Inside a
    run NoFreeThread when all other threads of its worker wait as well.
    """
    if connections[alias()].in_atomic_block:
        raise WaitInTransaction(f"Wait for run {run.pk} after the transaction, not inside atomic().")
    run.refresh_from_db(using=alias())
    if run.is_finished:
        return run
    mine = crew.seat.get()
    if mine is None:
        return _wait(run, timeout)
    with mine.crew.one_waits() as may_wait:
        if run.pk == mine.run_id:
            raise NoFreeThread(f"Run {run.pk} waits for its own end, which cannot come before that of its function.")
        if not may_wait:
            raise NoFreeThread(_no_thread(mine, run))
        return _wait(run, timeout)


def _no_thread(mine: crew.Seat, run: Run) -> str:
    why = "no thread of its worker would be left to work. Raise THREADS"
    if not mine.crew.is_whole:
        why = 'its process does not know whether a thread of its worker is free. Use executor="threads"'
    return (
        f"Run {mine.run_id} cannot wait for run {run.pk}: {why}, or do not wait: let the other run enqueue what comes "
        "after it, or raise jobs.Snooze and look again later."
    )


def _wait(run: Run, timeout: float | None) -> Run:
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
