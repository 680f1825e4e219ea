"""The arithmetic of pauses before a run is tried again."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from math import log

LONGEST_PAUSE = timedelta(days=365)
LARGEST_FACTOR = 1000.0


def _check_duration(name: str, value: object) -> None:
    if not isinstance(value, timedelta):
        raise TypeError(f"{name} must be a timedelta, got {value!r:.80} ({type(value).__name__}).")
    if not timedelta(0) < value <= LONGEST_PAUSE:
        raise ValueError(f"{name} must be longer than nothing, at most {LONGEST_PAUSE.days} days, got {value}.")


def _check_number(name: str, value: object, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {value!r:.80} ({type(value).__name__}).")
    if not least <= value <= most:
        raise ValueError(f"{name} must lie between {least} and {most}, got {value!r:.80}.")


def _seconds(name: str, value: object) -> timedelta:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number of seconds, got {value!r:.80}.")
    try:
        return timedelta(seconds=value)
    except OverflowError:  # infinity as well; NaN is a ValueError of its own
        raise ValueError(f"{name} must be at most {LONGEST_PAUSE.days} days, got {value!r:.80} seconds.") from None


@dataclass(frozen=True, slots=True)
class Backoff:
    """The pause before a failed run is tried again, longer after each further failure.

    `first` (above 0) after the first failure, `factor` (1 to 1000; 1: always the same) times as long after each
    further one, at most `cap` (None: 365 days). Each pause is made longer or shorter by chance, by at most the fraction
    `jitter` (0 to 1) of it, so that what failed together is not tried again together. None is longer than 365 days.

    Raises TypeError or ValueError, which name the argument.
    """

    first: timedelta = timedelta(seconds=10)
    factor: float = 2.0
    cap: timedelta | None = timedelta(hours=1)
    jitter: float = 0.1

    def __post_init__(self):
        _check_duration("first", self.first)
        if self.cap is not None:
            _check_duration("cap", self.cap)
        _check_number("factor", self.factor, 1, LARGEST_FACTOR)
        _check_number("jitter", self.jitter, 0, 1)

    def pause(self, failures: int, chance: Callable[[], float] = random.random) -> timedelta:
        """The pause after `failures` >= 1 failures; `chance` gives a number from 0 to 1."""
        spread = 1 + self.jitter * (2 * chance() - 1)
        return min(self._plain(failures) * spread, LONGEST_PAUSE)

    def _plain(self, failures: int) -> timedelta:
        longest = LONGEST_PAUSE if self.cap is None else self.cap
        # Compared as logarithms: the power itself soon is beyond every number.
        if (failures - 1) * log(self.factor) >= log(longest / self.first):
            return longest
        return min(self.first * self.factor ** (failures - 1), longest)

    def to_json(self) -> dict[str, float | None]:
        """What is stored: seconds and plain numbers."""
        cap = None if self.cap is None else self.cap.total_seconds()
        return {"first": self.first.total_seconds(), "factor": self.factor, "cap": cap, "jitter": self.jitter}

    @classmethod
    def from_json(cls, stored: object) -> "Backoff":
        """The inverse of `to_json`. ValueError or TypeError if somebody has written something else there."""
        if not isinstance(stored, dict) or stored.keys() != {"first", "factor", "cap", "jitter"}:
            raise ValueError(f"a stored backoff must have first, factor, cap and jitter, got {stored!r:.80}.")
        cap = None if stored["cap"] is None else _seconds("cap", stored["cap"])
        return cls(_seconds("first", stored["first"]), stored["factor"], cap, stored["jitter"])


# What says how long to wait: data, which is stored with a run, or a function of the code that is called with the number
# of failures (from 1 on) and the exception, and gives back a timedelta or seconds.
BackoffRule = Backoff | Callable[[int, BaseException], timedelta | float]

_LOSS = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=60), jitter=0)


def loss_backoff(losses: int) -> timedelta:
    """The pause before a run starts again whose worker died under it for the `losses`-th time: 1 s, 2 s, 4 s … 60 s."""
    return _LOSS.pause(losses)


def checked_pause(name: str, value: object) -> timedelta:
    """A timedelta or a number of seconds, not negative, as a pause of at most LONGEST_PAUSE. TypeError or ValueError,
    which names it, for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return min(timedelta(seconds=min(value, LONGEST_PAUSE.total_seconds())), LONGEST_PAUSE)
    if isinstance(value, timedelta) and value >= timedelta(0):
        return min(value, LONGEST_PAUSE)
    kind = ValueError if isinstance(value, int | float | timedelta) and not isinstance(value, bool) else TypeError
    raise kind(f"{name} must be a timedelta or a number of seconds, not negative, got {value!r:.80}.")
