"""Schedules that code declares: `@jobs.register(schedule=…)`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from jobs.core.misfire import MOST_AT_ONCE, Misfire, Overlap
from jobs.core.recurrence import LONGEST_SECONDS, RULE, duration_words, recurrence
from jobs.options import check_options

_NO_PARAMETERS: Mapping = MappingProxyType({})
_LONGEST = timedelta(seconds=LONGEST_SECONDS)
_ANY_MOMENT = datetime(2027, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class DeclaredSchedule:
    """What code says about a schedule. Make one with `schedule`."""

    rule: str | timedelta | datetime
    name: str = ""
    parameters: Mapping = field(default_factory=lambda: _NO_PARAMETERS)
    time_zone: str | None = None  # None: TIME_ZONE
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    jitter: timedelta = timedelta(0)
    misfire: str = Misfire.ONCE.value
    misfire_limit: int = 10
    lateness: timedelta | None = None
    overlap: str = Overlap.SKIP.value

    def columns(self, time_zone: str, now: datetime) -> dict:
        """The columns of its row, parameters left out. `time_zone` is the site's; intervals count from `now`."""
        return self._rule_columns(now) | {
            "name": self.name,
            "time_zone": self.time_zone or time_zone,
            "starts_at": self.starts_at,
            "ends_at": self.ends_at,
            "jitter_seconds": self.jitter.total_seconds(),
            "misfire": str(self.misfire),
            "misfire_limit": self.misfire_limit,
            "lateness_seconds": None if self.lateness is None else self.lateness.total_seconds(),
            "overlap": str(self.overlap),
        }

    def _rule_columns(self, now: datetime) -> dict:
        if isinstance(self.rule, str):
            return {"kind": "cron", "expression": self.rule}
        if isinstance(self.rule, timedelta):
            return {
                "kind": "interval",
                "interval_seconds": self.rule.total_seconds(),
                "anchor_at": now.replace(microsecond=0),
            }
        return {"kind": "once", "anchor_at": self.rule}

    @property
    def key(self) -> str:
        """What tells it from the function's other ones."""
        rule = self.rule
        text = rule if isinstance(rule, str) else duration_words(rule) if isinstance(rule, timedelta) else str(rule)
        return self.name or text


def schedule(
    rule: str | timedelta | datetime,
    *,
    name: str = "",
    parameters: Mapping | None = None,
    time_zone: str | None = None,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
    jitter: timedelta = timedelta(0),
    misfire: str = Misfire.ONCE.value,
    misfire_limit: int = 10,
    lateness: timedelta | None = None,
    overlap: str = Overlap.SKIP.value,
) -> DeclaredSchedule:
    """A schedule for `@jobs.register(schedule=…)`.

    `rule` is a cron expression (see docs/schedules.md), an interval (a timedelta from a second to ten years, counted
    from when it is first stored) or a single aware moment. `parameters` are those of its runs, by name. `time_zone` is
    the one of the expression, by default TIME_ZONE. It fires from `starts_at` to `ends_at`, both included; `jitter` is
    the longest time by which a run is put off by chance. `misfire` ("once", "skip", "all") says what happens to slots
    that passed while nobody worked, at most `misfire_limit` (1 to 100) of them with "all"; a slot that is later than
    `lateness` is dropped. `overlap` ("skip", "queue", "allow", "replace") says what happens to a slot that comes while
    the last run still works. Raises TypeError or ValueError for anything else.
    """
    declared = DeclaredSchedule(
        rule, name, _frozen(parameters), time_zone, starts_at, ends_at, jitter, misfire, misfire_limit,
        lateness, overlap,
    )  # fmt: skip
    _check(declared)
    return declared


def _frozen(parameters: object) -> object:
    """Nobody changes them afterwards; what is no dict is refused by `_check`."""
    if parameters is None:
        return _NO_PARAMETERS
    return MappingProxyType(dict(parameters)) if isinstance(parameters, Mapping) else parameters


def _check(declared: DeclaredSchedule) -> None:
    if not isinstance(declared.rule, str | timedelta | datetime):
        raise TypeError(
            f"A schedule must be a cron expression, a timedelta or a datetime, got {declared.rule!r} "
            f"({type(declared.rule).__name__})."
        )
    for name in ("rule", "starts_at", "ends_at"):
        _check_moment(name, getattr(declared, name))
    if not isinstance(declared.parameters, Mapping):
        raise TypeError(f"parameters must be a dict of values by name, got {declared.parameters!r:.80}.")
    check_options({"name": declared.name} if declared.name else {}, allowed=("name",))
    for name, allowed in (("misfire", tuple(Misfire)), ("overlap", tuple(Overlap))):
        if getattr(declared, name) not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {getattr(declared, name)!r}.")
    for name, duration in (("jitter", declared.jitter), ("lateness", declared.lateness)):
        least = timedelta(0) if name == "jitter" else timedelta(seconds=1)
        is_none = name == "lateness" and duration is None
        if not is_none and not (isinstance(duration, timedelta) and least <= duration <= _LONGEST):
            raise ValueError(f"{name} must be a timedelta of {least.seconds} seconds to ten years, got {duration!r}.")
    if type(declared.misfire_limit) is not int or not 1 <= declared.misfire_limit <= MOST_AT_ONCE:
        raise ValueError(
            f"misfire_limit must be a whole number from 1 to {MOST_AT_ONCE}, got {declared.misfire_limit!r}."
        )
    columns = declared.columns("UTC", _ANY_MOMENT)
    recurrence(**{name: columns[name] for name in RULE if name in columns})


def _check_moment(name: str, value: object) -> None:
    if name == "rule" and not isinstance(value, datetime):
        return
    if value is not None and (not isinstance(value, datetime) or value.tzinfo is None):
        raise ValueError(f"{name} must be a datetime with a time zone, got {value!r:.80}.")


def declared_schedules(given: object) -> tuple[DeclaredSchedule, ...]:
    """What the option `schedule` of `register` may be: a rule, what `schedule` returns, or a list of these."""
    if given is None:
        return ()
    many = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    found = tuple(each if isinstance(each, DeclaredSchedule) else schedule(each) for each in many)
    keys = [each.key for each in found]
    if len(set(keys)) < len(keys):
        raise ValueError(f"Two schedules of one function need different names, got {', '.join(map(repr, keys))}.")
    return found
