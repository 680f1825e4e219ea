"""The errors that the app raises on purpose. Every one says what was expected, what came, and what to do."""

from datetime import timedelta

from jobs.core.retry import checked_pause


class JobsError(Exception):
    """Base class of every error that `jobs` raises on purpose."""


class RegistrationError(JobsError, TypeError):
    """A function cannot be registered as a task function: it, its signature or an option is not supported."""


class NotRegistered(JobsError, LookupError):
    """No task function has this name in this process."""


class ParameterError(JobsError, TypeError, ValueError):
    """The parameters given for a task function do not fit its signature.

    `errors` maps each parameter's name to what is wrong with it ("" holds what concerns the call as a whole).
    """

    def __init__(self, task_name: str, errors: dict[str, str]):
        self.task_name = task_name
        self.errors = errors
        super().__init__(task_name, errors)

    def __str__(self) -> str:
        parts = [f"{name}: {problem}" if name else problem for name, problem in self.errors.items()]
        return f"{self.task_name}: " + "; ".join(parts)


class Cancelled(JobsError):
    """Raised by a task function that ends early because its run was asked to: the run is then cancelled."""


class TimedOut(Cancelled):
    """The time of a run is over, or it has told no progress for too long. Raised inside its function where that asks
    for it (`jobs.current_run().raise_if_cancelled()`, `interrupt=True`); the execution then counts as a failure."""


class ForcedStop(BaseException):
    """Raised inside a function registered with `interrupt=True` when its run is asked to end or its time is over. No
    `except Exception` holds it up; clean up in `finally`."""


class GiveUp(JobsError):
    """Raised by a task function that knows that trying again would not help: the run fails at once."""


class Retry(JobsError):
    """Raised by a task function that failed and says when to try it again. Counts as a failure: after the last of its
    `max_attempts` the run fails.

    `after` is a timedelta or a number of seconds, not negative, at most 365 days; None: as the function's `backoff`
    says. Raises TypeError or ValueError for anything else.
    """

    def __init__(self, message: str = "", *, after: timedelta | float | None = None):
        super().__init__(message)
        self.after = None if after is None else checked_pause("after", after)


class Snooze(JobsError):
    """Raised by a task function that wants to be called again later, because what it needs is not there yet. Costs no
    attempt. `after` as of `Retry`, but needed."""

    def __init__(self, after: timedelta | float, message: str = ""):
        super().__init__(message)
        self.after = checked_pause("after", after)
