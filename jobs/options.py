"""What can be said about the runs of a task function: the options of `register` and `using`."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.core.order import check_priority
from jobs.core.retry import Backoff, BackoffRule
from jobs.core.states import OnLost
from jobs.core.texts import visible

NAME_LENGTH = 200
QUEUE_LENGTH = 100
KEY_LENGTH = 255
LONGEST_DEADLINE = timedelta(days=3660)
LONGEST_TIMEOUT = timedelta(days=365)
LONGEST = {"start_deadline": LONGEST_DEADLINE, "timeout": LONGEST_TIMEOUT, "progress_timeout": LONGEST_TIMEOUT}
MOST_ATTEMPTS = 1000
DEFAULT_BACKOFF = Backoff()
THREADS, PROCESSES = EXECUTORS = ("threads", "processes")


@dataclass(frozen=True, slots=True)
class Options:
    """How the runs of a task function are treated, unless a job or `using()` says otherwise."""

    priority: int = 0
    queue: str = "default"
    on_lost: str = OnLost.REQUEUE
    max_losses: int = 3
    unique_key: str | None = None
    start_deadline: timedelta | None = None
    max_attempts: int = 1
    backoff: BackoffRule | None = None  # None: DEFAULT_BACKOFF
    retry_on: tuple[type[BaseException], ...] = (Exception,)
    give_up_on: tuple[type[BaseException], ...] = ()
    timeout: timedelta | None = None
    progress_timeout: timedelta | None = None
    executor: str = ""  # empty: as JOBS["EXECUTOR"] of its worker says
    interrupt: bool = False
    run_after: datetime | timedelta | None = None

    def __post_init__(self):
        for name in ("retry_on", "give_up_on"):
            given = getattr(self, name)
            object.__setattr__(self, name, given if isinstance(given, tuple) else (given,))
        if isinstance(self.backoff, timedelta):
            object.__setattr__(self, "backoff", Backoff(self.backoff, factor=1, cap=None, jitter=0))


# Named by the design, but without effect as yet: refused, because an ignored option is worse than none.
_NOT_AVAILABLE = {"limit_key", "limit", "rate", "retention"}

# Those that a run is stored with.
_OF_RUNS = (
    "priority", "queue", "on_lost", "max_losses", "unique_key", "start_deadline", "max_attempts", "backoff", "timeout",
    "progress_timeout", "executor",
)  # fmt: skip
USING_OPTIONS = (*_OF_RUNS, "run_after")
REGISTER_OPTIONS = ("name", "label", *_OF_RUNS, "retry_on", "give_up_on", "interrupt", "schedule")


def check_options(options: dict, *, allowed: tuple[str, ...]) -> None:
    """Raise TypeError or ValueError, naming the option, unless each one is known, available and in its range."""
    for option, value in options.items():
        if option not in allowed:
            raise TypeError(_refusal(option, allowed))
        if option == "backoff":
            _check_backoff(value, may_be_function="schedule" in allowed)
        elif option in _CHECKS:
            _CHECKS[option](value)


def _refusal(option: str, allowed: tuple[str, ...]) -> str:
    if option in _NOT_AVAILABLE:
        return f"The option {option!r} is not available in this version of jobs. Available: {', '.join(allowed)}."
    near = difflib.get_close_matches(option, allowed, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known options: {', '.join(allowed)}."
    return f"Unknown option {option!r}. {hint}"


def _check_text(option: str, length: int, *, optional: bool = False):
    def check(value):
        if optional and value is None:
            return
        if not isinstance(value, str) or not 0 < len(value) <= length or value != visible(value):
            raise ValueError(
                f"{option} must be a text of 1 to {length} characters, without NUL and lone surrogates, "
                f"got {value!r:.80}."
            )

    return check


def _check_on_lost(value):
    if value not in tuple(OnLost):
        raise ValueError(f'on_lost must be "requeue" or "fail", got {value!r}.')


def _check_executor(value):
    if value not in ("", *EXECUTORS):
        raise ValueError(f"executor must be {' or '.join(map(repr, EXECUTORS))}, got {value!r:.80}.")


def _check_count(option: str, most: int):
    def check(value):
        if type(value) is not int or not 1 <= value <= most:
            raise ValueError(f"{option} must be a whole number from 1 to {most}, got {value!r}.")

    return check


def _check_backoff(value, *, may_be_function: bool):
    if isinstance(value, timedelta):
        Backoff(value, cap=None)  # says what is wrong with it
    elif value is not None and not isinstance(value, Backoff) and not (may_be_function and callable(value)):
        function = ", or a function of failures and error" if may_be_function else " (a function cannot be stored)"
        raise TypeError(f"backoff must be a timedelta or a jobs.Backoff{function}, got {value!r:.80}.")


def _check_exceptions(option: str):
    def check(value):
        for each in value if isinstance(value, tuple) else (value,):
            if not (isinstance(each, type) and issubclass(each, BaseException)):
                raise TypeError(f"{option} must be an exception class or a tuple of some, got {value!r:.80}.")

    return check


def _check_flag(option: str):
    def check(value):
        if not isinstance(value, bool):
            raise TypeError(f"{option} must be True or False, got {value!r:.80}.")

    return check


def _check_run_after(value):
    if value is not None and not isinstance(value, datetime | timedelta):
        raise TypeError(f"run_after must be a datetime, a timedelta or None, got {value!r} ({type(value).__name__}).")


def _check_duration(option: str):
    longest = LONGEST[option]

    def check(value):
        if value is None:
            return
        if not isinstance(value, timedelta):
            raise TypeError(f"{option} must be a timedelta or None, got {value!r} ({type(value).__name__}).")
        if not timedelta(0) < value <= longest:
            raise ValueError(f"{option} must be longer than nothing, at most {longest.days} days, got {value}.")

    return check


_CHECKS: dict[str, Callable] = {
    "priority": check_priority,
    "queue": _check_text("queue", QUEUE_LENGTH),
    "on_lost": _check_on_lost,
    "max_losses": _check_count("max_losses", 1000),
    "unique_key": _check_text("unique_key", KEY_LENGTH, optional=True),
    "start_deadline": _check_duration("start_deadline"),
    "max_attempts": _check_count("max_attempts", MOST_ATTEMPTS),
    "retry_on": _check_exceptions("retry_on"),
    "give_up_on": _check_exceptions("give_up_on"),
    "timeout": _check_duration("timeout"),
    "progress_timeout": _check_duration("progress_timeout"),
    "executor": _check_executor,
    "interrupt": _check_flag("interrupt"),
    "run_after": _check_run_after,
    "name": _check_text("name", NAME_LENGTH),
    "label": _check_text("label", NAME_LENGTH),
}
