"""The JOBS setting: defaults, what is allowed, and one frozen value read by everybody."""

import difflib
import shlex
from dataclasses import dataclass, fields
from functools import cache

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

from jobs.core.order import ageing_microseconds
from jobs.options import EXECUTORS

LONGEST_SECONDS = 1_000_000
MOST_BYTES = 4_194_304  # with what quoting adds, an INSERT of it stays below MariaDB's max_allowed_packet of 16 MB
MOST_THREADS = 1000
LEAST_MEMORY = 67_108_864  # with less a child process could not load a site


@dataclass(frozen=True, slots=True)
class Settings:
    """One field per key of the JOBS dict; the values here are the defaults."""

    AUTOSTART: bool | None = None  # None: the process decides by what it is; True / False overrule
    EXECUTOR: str = "threads"
    THREADS: int = 4  # task functions at once in one process
    QUEUES: tuple[str, ...] | None = None  # None: all queues
    AGEING_SECONDS: float | None = None  # what a level of priority is worth in waiting; None: strict priority
    POLL_SECONDS: float = 1.0  # longest time until work from another process is seen without a wake-up
    NOTIFY: bool = True  # on PostgreSQL: tell other processes of work by NOTIFY, and listen for it
    HEARTBEAT_SECONDS: float = 10.0  # between two signs of life
    LOST_AFTER_SECONDS: float = 45.0  # silence after which a worker counts as dead
    GRACE_SECONDS: float = 25.0  # how long a stop lets running functions finish
    MAX_LOG_BYTES: int = 131_072  # kept of one run's log: its head and its tail
    MAX_RESULT_BYTES: int = 65_536  # a larger result is not stored
    PROCESS_RUNS: int = 1000  # so many runs one child process executes, then it is replaced
    PROCESS_MEMORY_BYTES: int | None = None  # what the data of a child process may take; None: no limit
    CAPTURE_PRINTS: bool | None = None  # None: in runscheduler; True / False: in every scheduler / in none
    COMMANDS: tuple[str, ...] = ()  # management command lines that may be run as jobs

    @property
    def ageing(self) -> int:
        """What one level of priority is worth, in microseconds."""
        return ageing_microseconds(self.AGEING_SECONDS)


def _is_number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_duration(value) -> bool:
    return _is_number(value) and 0 < value <= LONGEST_SECONDS


def _is_count(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_THREADS


def _is_number_of_runs(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_size(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1024 <= value <= MOST_BYTES


def _are_queue_names(value) -> bool:
    if value is None:
        return True
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(q, str) and q for q in value)


def _are_command_lines(value) -> bool:
    return isinstance(value, list | tuple) and all(_is_command_line(line) for line in value)


def _is_command_line(value) -> bool:
    try:
        words = shlex.split(value) if isinstance(value, str) else []
    except ValueError:  # a quotation mark without its twin
        return False
    return bool(words) and not words[0].startswith("-")


_RULES = {
    "AUTOSTART": (lambda value: value is None or isinstance(value, bool), "None, True or False"),
    "EXECUTOR": (lambda value: value in EXECUTORS, " or ".join(f'"{each}"' for each in EXECUTORS)),
    "THREADS": (_is_count, f"a whole number from 1 to {MOST_THREADS}"),
    "QUEUES": (_are_queue_names, "None (all queues) or a list of queue names"),
    "AGEING_SECONDS": (
        lambda value: value is None or (_is_number(value) and 0.001 <= value <= 4e9),
        "None (strict priority) or seconds, 0.001 to 4e9",
    ),
    "POLL_SECONDS": (_is_duration, f"a number of seconds above 0, at most {LONGEST_SECONDS}"),
    "NOTIFY": (lambda value: isinstance(value, bool), "True or False"),
    "HEARTBEAT_SECONDS": (_is_duration, f"a number of seconds above 0, at most {LONGEST_SECONDS}"),
    "LOST_AFTER_SECONDS": (_is_duration, f"a number of seconds above 0, at most {LONGEST_SECONDS}"),
    "GRACE_SECONDS": (
        lambda value: _is_number(value) and 0 <= value <= LONGEST_SECONDS,
        f"a number of seconds, 0 to {LONGEST_SECONDS}",
    ),
    "MAX_LOG_BYTES": (_is_size, f"a whole number of bytes, 1024 to {MOST_BYTES}"),
    "MAX_RESULT_BYTES": (_is_size, f"a whole number of bytes, 1024 to {MOST_BYTES}"),
    "PROCESS_RUNS": (_is_number_of_runs, "a whole number from 1 on"),
    "PROCESS_MEMORY_BYTES": (
        lambda value: value is None or (_is_number_of_runs(value) and value >= LEAST_MEMORY),
        f"None (no limit) or a whole number of bytes, at least {LEAST_MEMORY}",
    ),
    "CAPTURE_PRINTS": (lambda value: value is None or isinstance(value, bool), "None, True or False"),
    "COMMANDS": (_are_command_lines, 'a list of command lines, such as ["clearsessions", "dumpdata shop"]'),
}


def problems(given: object) -> list[tuple[str, str]]:
    """What is wrong with a JOBS setting, as (message, hint) pairs; empty when it is right."""
    if not isinstance(given, dict):
        return [(f"The JOBS setting must be a dict, got {type(given).__name__}.", 'Write JOBS = {"THREADS": 4}.')]
    found = [_unknown_key(key) for key in given if key not in _RULES]
    for key, (is_valid, expected) in _RULES.items():
        if key in given and not is_valid(given[key]):
            found.append(
                (f'JOBS["{key}"] must be {expected}, got {given[key]!r}.', f"The default is {_default(key)!r}.")
            )
    if not found:
        found = _beat_problem(Settings(**given))
    return found


def _unknown_key(key) -> tuple[str, str]:
    near = difflib.get_close_matches(str(key), _RULES, n=1)
    hint = f'Did you mean "{near[0]}"?' if near else f"Known keys: {', '.join(_RULES)}."
    return f"JOBS has an unknown key {key!r}.", hint


def _beat_problem(value: Settings) -> list[tuple[str, str]]:
    if value.LOST_AFTER_SECONDS >= 3 * value.HEARTBEAT_SECONDS:
        return []
    return [
        (
            f"LOST_AFTER_SECONDS ({value.LOST_AFTER_SECONDS:g}) must be at least three times HEARTBEAT_SECONDS "
            f"({value.HEARTBEAT_SECONDS:g}): a worker is only dead when several signs of life are missing.",
            "Raise LOST_AFTER_SECONDS or lower HEARTBEAT_SECONDS.",
        )
    ]


def _default(key: str):
    return next(field.default for field in fields(Settings) if field.name == key)


@cache
def get_settings() -> Settings:
    """The settings in force. Raises ImproperlyConfigured, with every problem, when the JOBS setting is wrong."""
    given = getattr(django_settings, "JOBS", {})
    if found := problems(given):
        raise ImproperlyConfigured(" ".join(f"{message} {hint}" for message, hint in found))
    lists = {key: tuple(given[key]) for key in ("QUEUES", "COMMANDS") if given.get(key) is not None}
    return Settings(**given | lists)


@receiver(setting_changed)
def _forget(*, setting, **kwargs):
    if setting == "JOBS":
        get_settings.cache_clear()
