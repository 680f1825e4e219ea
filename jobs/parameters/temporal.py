"""Dates, times and durations, in ISO 8601 whatever the locale."""

from datetime import date, datetime, time, timedelta

from django.utils.dateparse import parse_duration
from django.utils.duration import duration_iso_string
from django.utils.timezone import get_default_timezone, is_naive, make_aware

from jobs.parameters.base import TextFormType

# The methods are called on the classes: a subclass (of freezegun, of pandas) may write something else.


class DateType(TextFormType):
    expected = 'a date without a time, or exactly its text, such as "2026-11-01"'
    example = '"2026-11-01"'
    parse = staticmethod(date.fromisoformat)

    def accepts(self, value):
        return isinstance(value, date) and not isinstance(value, datetime)

    def to_json(self, value):
        return date.isoformat(value)


class DatetimeType(TextFormType):
    """A naive one is in TIME_ZONE, whatever USE_TZ says. Given back with the offset that it had; always aware."""

    expected = 'a datetime, or exactly its text with the offset, such as "2026-11-01T09:30:00+00:00"'
    example = '"2026-11-01T09:30:00+00:00"'

    def accepts(self, value):
        return isinstance(value, datetime)

    def parse(self, text):
        return _aware(datetime.fromisoformat(text))

    def from_value(self, value):
        return _aware(super().from_value(value))

    def to_json(self, value):
        return datetime.isoformat(value)


def _aware(value: datetime) -> datetime:
    return make_aware(value, get_default_timezone()) if is_naive(value) else value


class TimeType(TextFormType):
    """A time of day. With a time zone it has no fixed offset, so that it could not be given back: refused."""

    expected = 'a time of day without a time zone, or exactly its text, such as "09:30:00"'
    example = '"09:30:00"'
    parse = staticmethod(time.fromisoformat)

    def accepts(self, value):
        return isinstance(value, time) and value.tzinfo is None

    def to_json(self, value):
        return time.isoformat(value)


class TimedeltaType(TextFormType):
    expected = 'a timedelta, or exactly its ISO 8601 text, such as "P1DT02H30M00S"'
    example = '"P1DT02H30M00S"'
    parse = staticmethod(parse_duration)
    to_json = staticmethod(duration_iso_string)

    def accepts(self, value):
        return isinstance(value, timedelta)
