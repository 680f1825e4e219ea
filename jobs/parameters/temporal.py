"""Dates, times and durations, in ISO 8601 whatever the locale."""

from datetime import date, datetime, time, timedelta

from django import forms
from django.utils.dateparse import parse_datetime, parse_duration
from django.utils.duration import duration_iso_string, duration_string
from django.utils.timezone import get_current_timezone, get_default_timezone, is_naive, make_aware

from jobs.parameters.base import TextFormType

# The methods are called on the classes: a subclass (of freezegun, of pandas) may write something else.


class DateType(TextFormType):
    expected = 'a date without a time, or exactly its text, such as "2026-11-01"'
    text_expected = "a date, such as 2026-11-01"
    example = '"2026-11-01"'
    parse = staticmethod(date.fromisoformat)

    def accepts(self, value):
        return isinstance(value, date) and not isinstance(value, datetime)

    def to_json(self, value):
        return date.isoformat(value)

    def form_field(self):
        widget = forms.DateInput({"type": "date"}, format="%Y-%m-%d")
        return forms.DateField(required=False, widget=widget, input_formats=["%Y-%m-%d"])


class DatetimeType(TextFormType):
    """A naive one is in TIME_ZONE, whatever USE_TZ says. Given back with the offset that it had; always aware."""

    expected = 'a datetime, or exactly its text with the offset, such as "2026-11-01T09:30:00+00:00"'
    text_expected = "a date and a time, such as 2026-11-01 09:30"
    example = '"2026-11-01T09:30:00+00:00"'

    def accepts(self, value):
        return isinstance(value, datetime)

    def parse(self, text):
        return _aware(datetime.fromisoformat(text))

    def from_value(self, value):
        return _aware(super().from_value(value))

    def to_json(self, value):
        return datetime.isoformat(value)

    @property
    def hint(self):
        return f"In the time zone {get_current_timezone()}."

    def form_field(self):
        return forms.CharField(required=False, widget=_ClockInput({"type": "datetime-local", "step": 1}))

    def from_text(self, text):
        """Without an offset it is in the current time zone, where exactly one moment must have this name."""
        try:
            value = parse_datetime(text.strip())
        except ValueError:
            value = None
        if value is None:
            raise self.text_refusal(text)
        if not is_naive(value):
            return value
        zone = get_current_timezone()
        moment = value.replace(tzinfo=zone)
        if not _is_only(moment):
            detail = f"the clocks of {zone} change there; give the offset, as in {moment.isoformat()}"
            raise self.text_refusal(text, detail)
        return moment

    def to_text(self, value):
        """The time by the clock of the current time zone, or with its offset where that would not name this moment."""
        try:
            local = value.astimezone(get_current_timezone())
        except OverflowError:  # in the first or the last hours of all time
            return self.to_json(value)
        if not _is_only(local):
            return self.to_json(value)
        return datetime.isoformat(local.replace(tzinfo=None), timespec=_precision(local))


def _is_only(local: datetime) -> bool:
    """Whether no other moment has this name by the clock of its time zone."""
    first, second = (local.replace(fold=fold).utcoffset() for fold in (0, 1))
    return first == second


def _precision(value: datetime | time) -> str:
    """Browsers send a full minute without its seconds, even where they were given with them."""
    return "auto" if value.second or value.microsecond else "minutes"


class _ClockInput(forms.TextInput):
    """A picker for a date or time; a plain field for a text that browsers' pickers cannot hold and would drop."""

    def get_context(self, name, value, attrs):
        context = super().get_context(name, value, attrs)
        text = context["widget"]["value"] or ""
        if len(text.partition(".")[2]) > 3 or "+" in text or text.count("-") > 2:
            context["widget"]["type"] = "text"
        return context


def _aware(value: datetime) -> datetime:
    return make_aware(value, get_default_timezone()) if is_naive(value) else value


class TimeType(TextFormType):
    """A time of day. With a time zone it has no fixed offset, so that it could not be given back: refused."""

    expected = 'a time of day without a time zone, or exactly its text, such as "09:30:00"'
    text_expected = "a time of day, such as 09:30"
    example = '"09:30:00"'
    parse = staticmethod(time.fromisoformat)

    def accepts(self, value):
        return isinstance(value, time) and value.tzinfo is None

    def to_json(self, value):
        return time.isoformat(value)

    def to_text(self, value):
        return time.isoformat(value, timespec=_precision(value))

    def form_field(self):
        formats = ["%H:%M:%S", "%H:%M", "%H:%M:%S.%f"]
        return forms.TimeField(required=False, widget=_ClockInput({"type": "time", "step": 1}), input_formats=formats)


class TimedeltaType(TextFormType):
    expected = 'a timedelta, or exactly its ISO 8601 text, such as "P1DT02H30M00S"'
    text_expected = "a duration, such as 90 (seconds), 2:30:00 or 1 12:00:00 (one day and twelve hours)"
    hint = "Days and hours:minutes:seconds, such as 1 12:00:00."
    example = '"P1DT02H30M00S"'
    parse = staticmethod(parse_duration)
    to_json = staticmethod(duration_iso_string)

    def accepts(self, value):
        return isinstance(value, timedelta)

    def form_field(self):
        return forms.DurationField(required=False)

    def to_text(self, value):
        return duration_string(value)
