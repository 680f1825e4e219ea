"""Times that people type on a command line, by the clock of a zone."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from jobs.core.clock_changes import first_moment


def read_local_time(text: str, zone: ZoneInfo) -> datetime:
    """The moment, in UTC, that `text` (ISO 8601) means by the clock of `zone`: an offset in the text counts instead, a
    day alone is its midnight. A time that comes twice is the first, one that is skipped lies right after the gap.
    ValueError, which says what was expected, for anything else."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return first_moment(zone, moment) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            f"Expected a time such as 2027-03-27T06:30, 2027-03-27 or 2027-03-27T06:30Z, got {text!r:.80}."
        ) from None


def is_day(text: str) -> bool:
    """Whether this is a day without a time."""
    try:
        return bool(date.fromisoformat(text.strip()))
    except ValueError:
        return False
