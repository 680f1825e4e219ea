"""The form of a schedule, in admin and pages: its rule, how its slots become runs, and parameters of its own."""

from collections.abc import Mapping
from functools import cache, cached_property
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from jobs.core import clock
from jobs.core.cron import read_zone
from jobs.core.misfire import MOST_AT_ONCE
from jobs.core.recurrence import RULE, SHORTEST_SECONDS
from jobs.core.rule_error import RuleError
from jobs.lifecycle import save_schedule
from jobs.models import Job, Schedule
from jobs.parameters import ParametersForm, dumps
from jobs.preview import Preview, preview_of, zone_or_utc
from jobs.registry import registry
from jobs.schedule_fields import Seconds, ZonedMoment
from jobs.submission import Datalist, changed_names, stored_arguments

# What belongs to a kind alone, and what stands there with the others.
OF_KIND = {"cron": {"expression"}, "interval": {"interval_seconds", "anchor_at"}, "once": {"anchor_at"}}
_EMPTY = {"expression": "", "interval_seconds": None, "anchor_at": None}
# The fields, as pages put them together.
ABOUT = ("name", "is_enabled")
WHEN = ("kind", "expression", "interval_seconds", "time_zone", "anchor_at", "starts_at", "ends_at")
TREATMENT = ("misfire", "misfire_limit", "lateness_seconds", "overlap", "jitter_seconds")


class ScheduleForm(forms.ModelForm):
    """A schedule of `instance.job`. `sees_values`: whether this person may see and change parameters.

    What does not belong to the kind that is chosen is not looked at, and not kept.
    """

    sees_values = False

    interval_seconds = Seconds(SHORTEST_SECONDS, label="Every", help_text="For an interval.")
    anchor_at = ZonedMoment(
        label="Moment",
        help_text="For a single run: when. For an interval: what it is counted from; empty: from now on. By the clock "
        "of the time zone above.",
    )
    time_zone = forms.CharField(max_length=64, help_text="Such as Europe/Berlin or UTC.")
    starts_at = ZonedMoment(label="Not before", help_text="By the clock of the time zone above. Empty: no limit.")
    ends_at = ZonedMoment(label="Not after", help_text="By the clock of the time zone above. Empty: no limit.")
    jitter_seconds = Seconds(
        0, label="Jitter", help_text="Each run starts later than its slot by chance, by at most this."
    )
    lateness_seconds = Seconds(
        SHORTEST_SECONDS,
        label="Latest start",
        help_text="A slot that is later than this is dropped. Empty: however late.",
    )
    misfire_limit = forms.IntegerField(
        label="At most", min_value=1, max_value=MOST_AT_ONCE, required=False,
        help_text="How many missed slots are run, the oldest first, where each is to be run.",
    )  # fmt: skip
    has_own_parameters = forms.BooleanField(
        label="Parameters of its own", required=False, help_text="Those below, in the place of the job's."
    )

    class Meta:
        model = Schedule
        fields = (*ABOUT, *WHEN, *TREATMENT)
        labels = {"misfire": "If nobody was there"}
        help_texts = {
            "expression": "For a cron expression: minute, hour, day of month, month and day of week, or a name such as "
            "@daily.",
            "misfire": "What becomes of the slots that passed meanwhile.",
            "overlap": "If the last run still works when a slot comes.",
        }

    def __init__(self, data: Mapping | None = None, *args, **kwargs):
        super().__init__(data, *args, **kwargs)
        self._before = {name: getattr(self.instance, name) for name in ScheduleForm.Meta.fields}
        self._had_arguments = self.instance.arguments_json
        self.parameters = self._parameters_form()
        if self.parameters is None:
            self.fields.pop("has_own_parameters", None)
        else:
            self.fields["has_own_parameters"].initial = self._had_arguments is not None
        self._set_zone()

    def _set_zone(self) -> None:
        if self.instance._state.adding:
            self.initial["time_zone"] = timezone.get_default_timezone_name()
            self.initial["kind"] = Schedule.Kind.CRON
        if "time_zone" in self.fields:
            self.fields["time_zone"].widget = Datalist(_zone_names())
        for field in self._moments().values():
            field.zone = zone_or_utc(self["time_zone"].value())

    def _moments(self) -> dict[str, ZonedMoment]:
        return {name: field for name, field in self.fields.items() if isinstance(field, ZonedMoment)}

    # Parameters

    def _parameters_form(self) -> ParametersForm | None:
        """None for who must not see them, and for a function that this process does not know: they stay as they are."""
        if not self.sees_values or self.instance.job.task not in registry:
            return None
        data = self.data if self.is_bound and self.data.get(self.add_prefix("has_own_parameters")) else None
        self._arguments_before = effective_arguments(self.instance)
        form = registry.get(self.instance.job.task).form(data, stored=self._arguments_before)
        form.use_required_attribute = False  # they are there as well where the job's are taken
        return form

    @property
    def problems(self) -> list[str]:
        """What is wrong with the parameters as a whole."""
        return self.parameters.non_field_errors() if self.parameters is not None else []

    @property
    def changed_parameters(self) -> list[str]:
        """The names of the parameters that are not as they were."""
        if self.parameters is None or not self.cleaned_data["has_own_parameters"]:
            return []
        return changed_names(self._arguments_before, self.parameters.arguments)

    def _clean_parameters(self) -> None:
        if not self.cleaned_data.get("has_own_parameters"):
            self.instance.arguments_json = None
        elif self.parameters.is_valid():
            self.instance.arguments_json = dumps(self.parameters.arguments)
        else:
            self.add_error("has_own_parameters", "Mend the parameters.")

    # Cleaning

    def full_clean(self):
        super().full_clean()
        for name, field in self._moments().items():
            if name in self.errors:
                field.allow_any_text()

    def clean_time_zone(self):
        try:
            return read_zone(self.cleaned_data["time_zone"]).key
        except RuleError as error:
            raise ValidationError(str(error)) from None

    def clean_jitter_seconds(self):
        return self.cleaned_data["jitter_seconds"] or 0

    def clean_misfire_limit(self):
        return self.cleaned_data["misfire_limit"] or self.instance.misfire_limit

    def clean(self):
        kind = self.cleaned_data.get("kind")
        for name in _EMPTY.keys() - OF_KIND.get(kind, _EMPTY.keys()):
            self.errors.pop(name, None)
            self.cleaned_data[name] = _EMPTY[name]
            setattr(self.instance, name, _EMPTY[name])
        if kind == "interval" and "anchor_at" not in self.errors and self.cleaned_data["anchor_at"] is None:
            self.cleaned_data["anchor_at"] = clock.now().replace(microsecond=0)
        if self.parameters is not None:
            self._clean_parameters()
        return self.cleaned_data

    def _update_errors(self, errors):
        """What the model says of a field that could not be read tells nothing new."""
        told = {name: found for name, found in errors.error_dict.items() if name not in self.errors}
        super()._update_errors(ValidationError(told))

    # What comes of it

    @property
    def rule_errors(self) -> dict[str, list[str]]:
        """What is wrong with the rule, by the names of its fields; of a row that somebody has edited by SQL as well."""
        if self.is_bound:
            return {name: list(self.errors[name]) for name in RULE if name in self.errors}
        try:
            if not self.instance._state.adding:
                self.instance.recurrence  # noqa: B018
        except RuleError as error:
            return {error.field: [str(error)]}
        return {}

    def preview(self) -> Preview | None:
        """What becomes of the rule as it stands in the form; None if it is none: `rule_errors` tell why, unless the
        form is a fresh one."""
        is_fresh = not self.is_bound and self.instance._state.adding
        return None if is_fresh or self.rule_errors else preview_of(self.instance)

    @cached_property
    def changed_data(self):
        """The names of the columns that are not as they were, once the form is valid."""
        names = [name for name, value in self._before.items() if value != getattr(self.instance, name)]
        return names if self.instance.arguments_json == self._had_arguments else [*names, "arguments_json"]

    def save_as(self, actor, note: str = "") -> Schedule:
        """Store the schedule in this person's name, once the form is valid, and return it."""
        fields = [name for name in self.changed_data if name != "arguments_json" or not self.changed_parameters]
        save_schedule(self.instance, fields=fields, parameters=self.changed_parameters, actor=actor, note=note)
        return self.instance


def preview_form(data: Mapping) -> ScheduleForm:
    """A form that is only asked for its `preview` and its `rule_errors`; other fields need not be there."""
    return ScheduleForm(data, instance=Schedule())


def effective_arguments(schedule: Schedule) -> dict:
    """Its parameters as JSON values: its own, else those of its job."""
    text = schedule.arguments_json
    return stored_arguments(schedule.job if text is None else Job(arguments_json=text))


@cache
def _zone_names() -> list[str]:
    return sorted(available_timezones())
