"""What can be said about the runs of a task function: the options of `register` and `using`."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.core.order import check_priority
from jobs.core.states import OnLost
from jobs.core.texts import visible

NAME_LENGTH = 200
QUEUE_LENGTH = 100
KEY_LENGTH = 255
LONGEST_DEADLINE = timedelta(days=3660)


@dataclass(frozen=True, slots=True)
class Options:
    """How the runs of a task function are treated, unless a job or `using()` says otherwise."""

    priority: int = 0
    queue: str = "default"
    on_lost: str = OnLost.REQUEUE
    max_losses: int = 3
    unique_key: str | None = None
    start_deadline: timedelta | None = None
    run_after: datetime | timedelta | None = None


# Named by the design, but without effect as yet: refused, because an ignored option is worse than none.
_NOT_AVAILABLE = {
    "max_attempts", "backoff", "retry_on", "give_up_on", "timeout", "limit_key", "limit", "rate",
    "executor", "retention",
}  # fmt: skip

USING_OPTIONS = ("priority", "queue", "on_lost", "max_losses", "unique_key", "start_deadline", "run_after")
REGISTER_OPTIONS = ("name", "label", *(option for option in USING_OPTIONS if option != "run_after"), "schedule")


def check_options(options: dict, *, allowed: tuple[str, ...]) -> None:
    """Raise TypeError or ValueError, naming the option, unless each one is known, available and in its range."""
    for option, value in options.items():
        if option not in allowed:
            raise TypeError(_refusal(option, allowed))
        if option in _CHECKS:
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


def _check_max_losses(value):
    if type(value) is not int or not 1 <= value <= 1000:
        raise ValueError(f"max_losses must be a whole number from 1 to 1000, got {value!r}.")


def _check_run_after(value):
    if value is not None and not isinstance(value, datetime | timedelta):
        raise TypeError(f"run_after must be a datetime, a timedelta or None, got {value!r} ({type(value).__name__}).")


def _check_start_deadline(value):
    if value is None:
        return
    if not isinstance(value, timedelta):
        raise TypeError(f"start_deadline must be a timedelta or None, got {value!r} ({type(value).__name__}).")
    if not timedelta(0) < value <= LONGEST_DEADLINE:
        raise ValueError(
            f"start_deadline must be longer than nothing, at most {LONGEST_DEADLINE.days} days, got {value}."
        )


_CHECKS: dict[str, Callable] = {
    "priority": check_priority,
    "queue": _check_text("queue", QUEUE_LENGTH),
    "on_lost": _check_on_lost,
    "max_losses": _check_max_losses,
    "unique_key": _check_text("unique_key", KEY_LENGTH, optional=True),
    "start_deadline": _check_start_deadline,
    "run_after": _check_run_after,
    "name": _check_text("name", NAME_LENGTH),
    "label": _check_text("label", NAME_LENGTH),
}
