"""Whether an execution that raised is followed by another one, and when. Decides; writes nothing."""

from datetime import timedelta

from jobs.core.retry import checked_pause
from jobs.errors import GiveUp, Retry
from jobs.lifecycle import rules
from jobs.lifecycle.claim import ClaimedRun
from jobs.options import DEFAULT_BACKOFF, Options
from jobs.registry import TaskFunction


def pause_before_next(task: TaskFunction, run: ClaimedRun, error: BaseException) -> timedelta | None:
    """The pause before the run is tried again after `error`; None if that is its end. Raises what the function's own
    `backoff` raises, TypeError or ValueError for what that returns."""
    if run.failures + 1 >= run.max_attempts or not _is_worth_it(task.options, error):
        return None
    if isinstance(error, Retry) and error.after is not None:
        return error.after
    backoff = rules.backoff(run.options_json) or task.options.backoff or DEFAULT_BACKOFF
    if callable(backoff):
        return checked_pause(f"what the backoff of {task.name} returns", backoff(run.failures + 1, error))
    return backoff.pause(run.failures + 1)


def _is_worth_it(options: Options, error: BaseException) -> bool:
    if isinstance(error, Retry):
        return True
    if isinstance(error, (GiveUp, *options.give_up_on)):
        return False
    return isinstance(error, options.retry_on)
