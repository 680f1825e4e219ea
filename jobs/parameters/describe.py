"""How a refused value is shown in a message: short, on one line, and without secrets."""

import datetime
import reprlib
from decimal import Decimal
from uuid import UUID

from jobs.parameters.masking import SUBSTITUTE, is_secret

MAX_LENGTH = 80

# Only these are shown. The repr of any other object may hold secrets, run a query or fail.
_BY_THEIR_REPR = {
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone,
    Decimal, UUID, bool, float, type(None),
}  # fmt: skip


def _may_hold_secret(text: str) -> bool:
    """Whether this may be a dict that was given as its text: `{"password": …`, `token=…`."""
    return (":" in text or "=" in text) and is_secret(text)


class _ShortRepr(reprlib.Repr):
    """Bounded in work as well as in length: it never builds the repr of the whole of a large value."""

    def __init__(self):
        super().__init__()
        self.maxlevel = 4
        self.maxstring = self.maxlong = self.maxother = MAX_LENGTH

    def repr_dict(self, value, level):
        shown = {key: SUBSTITUTE if isinstance(key, str) and is_secret(key) else item for key, item in value.items()}
        return super().repr_dict(shown, level)

    def repr_str(self, value, level):
        return SUBSTITUTE if _may_hold_secret(value) else super().repr_str(value, level)

    def repr_bytes(self, value, level):
        return SUBSTITUTE if _may_hold_secret(value.decode("latin-1")) else repr(value[:MAX_LENGTH])

    def repr_instance(self, value, level):
        return repr(value) if type(value) in _BY_THEIR_REPR else f"<{type(value).__name__}>"


_short_repr = _ShortRepr().repr


def shorten(value: object) -> str:
    """The repr of a plain value, at most 80 characters; of any other object only its class."""
    try:
        text = _short_repr(value)
    except Exception:  # a number of too many digits, an object that lies about its class
        return f"<{type(value).__name__}>"
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


def describe(value: object) -> str:
    """The class of a value and, where it is shown, its short repr: `str 'abc'`, `User`."""
    name, text = type(value).__name__, shorten(value)
    if value is None:
        return text
    return name if text == f"<{name}>" else f"{name} {text}"
