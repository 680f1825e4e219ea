"""Reading a cron expression: what the library cronsim accepts, with errors that name the field."""

import re
from datetime import datetime

from cronsim import CronSim, CronSimError

from jobs.core.rule_error import RuleError

EXPRESSION_LENGTH = 200
NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_FIELDS = (
    ("minute", "0 to 59", 59),
    ("hour", "0 to 23", 23),
    ("day of month", "1 to 31, L or LW", 31),
    ("month", "1 to 12 or JAN to DEC", 12),
    ("day of week", "0 to 7 or SUN to SAT", 7),
)
_NUMBERS = ("minutes", "hours", "days", "months", "weekdays")  # as the library calls them
_DAY_OF_MONTH, _DAY_OF_WEEK = 2, 4
_TO_SUNDAY = re.compile("(?<!0)(?<!SUN)-SUN(?![A-Z])", re.IGNORECASE)  # MON-SUN is a week, not a step back
_ANY_DAY = datetime(2027, 1, 1)


def read_expression(text: str) -> str:
    """The expression with five fields and single spaces; RuleError if it is none."""
    if not isinstance(text, str):
        raise _refused("a cron expression", repr(text))
    if len(text) > EXPRESSION_LENGTH:
        raise _refused(f"at most {EXPRESSION_LENGTH} characters", f"{len(text):,}")
    text = " ".join(text.split())
    if text.startswith("@"):
        return _named(text)
    parts = text.split(" ")
    if len(parts) != 5:
        raise _refused("five fields: minute, hour, day of month, month, day of week", repr(text), _hint(parts))
    parts[_DAY_OF_WEEK] = _TO_SUNDAY.sub("-7", parts[_DAY_OF_WEEK])
    for place, part in enumerate(parts):
        _check_field(place, part)
    return _checked_whole(" ".join(parts))


def never_fires(expression: str) -> RuleError:
    why = "none of these months has such a day, or the clocks always skip that time"
    return RuleError("expression", f"{expression} never fires: {why}.")


def _named(text: str) -> str:
    if text.lower() not in NAMED:
        raise _refused(f"one of {', '.join(NAMED)}", repr(text))
    return NAMED[text.lower()]


def _hint(parts: list[str]) -> str:
    return " For seconds take an interval." if len(parts) == 6 else ""


def _check_field(place: int, part: str) -> None:
    name, expected, _ = _FIELDS[place]
    try:
        _simulation(place, part)
    except (CronSimError, AssertionError, ValueError, IndexError, TypeError):  # it does not foresee all
        raise _refused(f"{expected} for the {name}, a list, a range or a step of them", repr(part)) from None
    for item in part.split(","):
        if "/" in item:
            _check_step(place, *item.split("/"))


def _check_step(place: int, span: str, step: str) -> None:
    """The library passes over the step of L and LW, and takes 5-5/10 for 5/10."""
    name, _, most = _FIELDS[place]
    if int(step) > most:
        hint = " For a longer rhythm take an interval."
        raise _refused(f"a step of at most {most} for the {name}", repr(f"{span}/{step}"), hint)
    is_last = place == _DAY_OF_MONTH and "L" in span.upper()
    if is_last or ("-" in span and len(getattr(_simulation(place, span), _NUMBERS[place])) == 1):
        raise _refused(f"more than one {name} to take a step of", repr(f"{span}/{step}"))


def _simulation(place: int, part: str) -> CronSim:
    """The library's reading of one field."""
    fields = ["*"] * 5
    fields[place] = part
    return CronSim(" ".join(fields), _ANY_DAY)


def _checked_whole(expression: str) -> str:
    try:
        CronSim(expression, _ANY_DAY)
    except CronSimError:  # each field can be read: it is a day that none of the months has
        raise never_fires(expression) from None
    return expression


def _refused(expected: str, got: str, hint: str = "") -> RuleError:
    return RuleError("expression", f"Expected {expected}, got {got:.80}.{hint}")
