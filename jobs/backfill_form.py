"""The form with which a person fills in past slots of a schedule: first they see how many it would be."""

from collections.abc import Mapping
from datetime import datetime

from django import forms
from django.core.exceptions import ValidationError

from jobs.core import clock
from jobs.core.order import MAX_PRIORITY, MIN_PRIORITY
from jobs.core.rule_error import RuleError
from jobs.errors import JobsError
from jobs.lifecycle import backfill, open_slots, slots_between
from jobs.models import Run, Schedule
from jobs.preview import zone_or_utc
from jobs.schedule_fields import ZonedMoment
from jobs.submission import NOTE_LENGTH


class BackfillForm(forms.Form):
    """From when to when, by the clock of the schedule's zone. A person sees how many slots that are before they are
    run: see `submit`."""

    start = ZonedMoment(label="From")
    until = ZonedMoment(label="To")
    priority = forms.IntegerField(
        min_value=MIN_PRIORITY, max_value=MAX_PRIORITY, required=False,
        help_text=f"{MIN_PRIORITY} (most urgent) to {MAX_PRIORITY}. Empty: that of the job.",
    )  # fmt: skip
    note = forms.CharField(max_length=NOTE_LENGTH, required=False, help_text="Kept with your name in the audit log.")
    # The times whose number of slots the person has seen.
    counted = forms.CharField(required=False, widget=forms.HiddenInput)
    is_counted = False  # whether the form tells how many slots its times have

    def __init__(self, schedule: Schedule, data: Mapping | None = None):
        super().__init__(data, prefix="backfill")
        self.schedule = schedule
        zone = zone_or_utc(schedule.time_zone)
        for name in ("start", "until"):
            self.fields[name].zone = zone
            self.fields[name].required = True
            self.fields[name].help_text = f"By the clock of {zone.key}. Included."

    def full_clean(self):
        super().full_clean()
        for name in ("start", "until"):
            if name in self.errors:
                self.fields[name].allow_any_text()

    def clean_until(self):
        until = self.cleaned_data["until"]
        if until > clock.now():
            raise ValidationError("Expected a moment that has passed: the schedule runs later slots itself.")
        return until

    def clean(self):
        if {"start", "until"} <= self.cleaned_data.keys():
            self._count()
        return self.cleaned_data

    def _count(self) -> None:
        start, until = self.cleaned_data["start"], self.cleaned_data["until"]
        if until < start:
            self.add_error("until", "Expected an end that is not before the start.")
            return
        try:
            self.slots = slots_between(self.schedule, start, until)
            self.open_slots = open_slots(self.schedule, self.slots)
        except (JobsError, RuleError) as error:
            self.add_error(None, str(error))

    def submit(self, actor) -> list[Run] | None:
        """The next step: count the slots; if these times have been counted, store the runs and return them. None: the
        form now tells the count (`is_counted`) or what is wrong."""
        if not self.is_valid():
            return None
        if self.cleaned_data["counted"] == self._times and (runs := self._fill_in(actor)) is not None:
            return runs
        self.is_counted = self.is_valid()
        if self.is_counted:
            self.data = self.data.copy()
            self.data[self.add_prefix("counted")] = self._times
        return None

    @property
    def _times(self) -> str:
        """What `counted` says when these times have been counted."""
        return " ".join(map(datetime.isoformat, (self.cleaned_data["start"], self.cleaned_data["until"])))

    def _fill_in(self, actor) -> list[Run] | None:
        chosen = {name: self.cleaned_data[name] for name in ("priority", "note")}
        try:
            return backfill(
                self.schedule, self.cleaned_data["start"], self.cleaned_data["until"], actor=actor, **chosen
            )
        except (JobsError, ValueError) as error:
            self.add_error(None, str(error))
            return None
