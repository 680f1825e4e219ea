"""Form fields of a schedule: moments by the clock of a zone, durations."""

from datetime import UTC, datetime, timedelta

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from jobs.core.cron import read_zone
from jobs.core.recurrence import LONGEST_SECONDS
from jobs.parameters.base import Refused
from jobs.parameters.temporal import DatetimeType, TimedeltaType
from jobs.preview import by_clock_of
from jobs.submission import MomentField

_MOST_CHARACTERS = 100
_UTC = read_zone("UTC")


class ZonedMoment(MomentField):
    """A date and time by the clock of `zone`, or with an offset. Its clean value is in UTC, or None."""

    zone = _UTC

    def clean(self, raw):
        with timezone.override(self.zone):
            value = super().clean(raw)
        self.validate(value)
        try:
            return value and value.astimezone(UTC)
        except OverflowError:
            raise ValidationError(f"Expected a moment in the years 1 to 9999 UTC, got {raw}.", "invalid") from None

    def prepare_value(self, value):
        if not isinstance(value, datetime):
            return value
        with timezone.override(self.zone):
            return DatetimeType().to_text(by_clock_of(self.zone, value))

    def allow_any_text(self) -> None:
        """A browser's picker takes no offset."""
        self.widget.input_type = "text"


class Seconds(forms.Field):
    """A duration that is typed as such; its clean value is in seconds."""

    def __init__(self, least: float, **options):
        self._type, self._least = TimedeltaType(), least
        help_text = f"{options.pop('help_text', '')} {self._type.hint}".strip()
        super().__init__(help_text=help_text, required=False, **options)

    def to_python(self, value):
        if value in self.empty_values:
            return None
        text = str(value)
        try:
            if len(text) > _MOST_CHARACTERS:
                raise self._type.text_refusal(text)
            seconds = self._type.from_text(text).total_seconds()
        except Refused as refused:
            raise ValidationError(f"E{refused.text()[1:]}.", "invalid") from None
        if not self._least <= seconds <= LONGEST_SECONDS:
            least = "1 second" if self._least else "0"
            raise ValidationError(f"Expected a duration of {least} to ten years, got {text}.", "invalid")
        return seconds

    def prepare_value(self, value):
        if not isinstance(value, int | float):
            return value
        try:
            return self._type.to_text(timedelta(seconds=value))
        except (OverflowError, ValueError):  # somebody has put it there by SQL
            return str(value)
