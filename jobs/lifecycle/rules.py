"""What a run was stored with beyond its columns: the text in `options_json`."""

import json
from datetime import timedelta

from jobs.core.retry import Backoff
from jobs.options import Options

# A person has filled in this slot. Such runs neither wait for others nor do others wait for them.
FILLED_IN = {"filled_in": True}
TAKES_PART = """COALESCE(options_json, '') NOT LIKE '%%"filled_in":true%%'"""


def stored(options: Options, **others) -> str | None:
    """The text for these options and `others`; None where there is nothing to keep. A backoff that is a function of the
    code stays there."""
    kept = dict(others)
    if isinstance(options.backoff, Backoff):
        kept["backoff"] = options.backoff.to_json()
    if options.progress_timeout is not None:
        kept["progress_timeout"] = options.progress_timeout.total_seconds()
    return json.dumps(kept, separators=(",", ":")) if kept else None


def with_others(options_json: str | None, **others) -> str:
    """The text with more in it."""
    return json.dumps(read(options_json) | others, separators=(",", ":"))


def read(options_json: str | None) -> dict:
    """What the text holds; nothing where somebody has written what is no JSON object."""
    try:
        found = json.loads(options_json or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def backoff(options_json: str | None) -> Backoff | None:
    """The pauses that the run was stored with, if any that can be read."""
    try:
        return Backoff.from_json(read(options_json)["backoff"])
    except (KeyError, TypeError, ValueError):
        return None


def progress_timeout(options_json: str | None) -> timedelta | None:
    """So long the run may tell no progress, if that was stored and can be read."""
    try:
        return timedelta(seconds=read(options_json)["progress_timeout"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
