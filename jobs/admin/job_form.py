"""The form of a job: its own fields, and the typed parameters of the function that is chosen."""

from collections.abc import Mapping

from django import forms
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property

from jobs.core.retry import LONGEST_PAUSE, Backoff
from jobs.lifecycle import known_queues
from jobs.models import Job
from jobs.options import DEFAULT_BACKOFF, check_options
from jobs.parameters import ParametersForm, dumps
from jobs.registry import registry
from jobs.submission import Datalist, changed_names, stored_arguments

SHOWN_FOR = "parameters_of"  # names the function whose parameters the browser has shown


def parameters_form(task_name: str, job: Job | None = None, data: Mapping | None = None) -> ParametersForm | None:
    """The parameters of a registered function; None for any other name.

    Those that are stored with the job are shown only for the function that it has: another one would get secrets that
    were not meant for it. If the browser has shown the fields of another function, what it sent under the same names
    is kept, and the rest is as in a fresh form.
    """
    if task_name not in registry:
        return None
    task = registry.get(task_name)
    stored = stored_arguments(job) if job is not None and job.task == task_name else {}
    if data is not None and data.get(SHOWN_FOR) != task_name:
        data = _carried_over(task.form(stored=stored), data)
    return task.form(data, stored=stored)


def _carried_over(fresh: ParametersForm, data: Mapping) -> MultiValueDict:
    sent = {}
    for bound in fresh:
        if not bound.field.widget.value_omitted_from_data(data, {}, bound.html_name) and bound.html_name in data:
            sent[bound.html_name] = data.getlist(bound.html_name)
        else:
            sent[bound.html_name] = _as_sent(bound.initial)
    return MultiValueDict({name: values for name, values in sent.items() if values})


def _as_sent(shown: object) -> list[str]:
    """What a browser sends for a field that shows this and was left alone."""
    if shown is True:
        return ["on"]
    if shown in (None, False, ""):
        return []
    return [str(each) for each in shown] if isinstance(shown, list | tuple) else [str(shown)]


BACKOFF = ("backoff_first", "backoff_factor", "backoff_cap")


def _pause_field(label: str, help_text: str) -> forms.FloatField:
    return forms.FloatField(label=label, required=False, min_value=0, help_text=help_text)


class JobForm(forms.ModelForm):
    """Only registered task functions can be chosen; the parameters are those of the one that is."""

    task = forms.ChoiceField(label="Task function")
    # Never shown and never read: it is made of the typed parameters, and holds what is wrong with all of them.
    arguments_json = forms.CharField(label="parameters", required=False, widget=forms.HiddenInput)

    backoff_first = _pause_field("First pause", "In seconds, before it is tried again. Empty: as the function says.")
    backoff_factor = forms.FloatField(
        label="Growth of the pause",
        required=False,
        help_text=f"Times as long each time. Empty: {DEFAULT_BACKOFF.factor:g}.",
    )
    backoff_cap = _pause_field("Longest pause", f"In seconds. Empty: {DEFAULT_BACKOFF.cap.total_seconds():g}.")

    class Meta:
        model = Job
        fields = (
            "name", "description", "task", "is_enabled", "priority", "queue", "max_attempts", "backoff_first",
            "backoff_factor", "backoff_cap", "timeout_seconds", "executor", "on_lost", "max_losses", "unique_key",
            "start_deadline_seconds",
        )  # fmt: skip
        widgets = {"description": forms.Textarea(attrs={"rows": 2})}
        labels = {"start_deadline_seconds": "Start deadline", "timeout_seconds": "Timeout"}
        help_texts = {
            "description": "For people: what it is good for.",
            "queue": "Empty: that of the function.",
            "max_attempts": "Executions before it fails because its function raises. Empty: as the function says.",
            "max_losses": "Executions before it fails because its worker keeps dying.",
            "unique_key": "Nothing is stored while a run with this key is unfinished.",
        }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.parameters = None
        if "queue" in self.fields:  # it is not for those who may only look
            self._offer_functions()
            self._show_backoff()
            self.fields["queue"].widget = Datalist(known_queues())
            self._before = stored_arguments(self.instance)
            self.parameters = parameters_form(self.chosen, self.instance, self.data if self.is_bound else None)

    @property
    def chosen(self) -> str:
        return self["task"].value() or ""

    @property
    def problems(self) -> list[str]:
        """What is wrong with the parameters as a whole."""
        if self.parameters is None or not self.is_bound:
            return []
        if self._were_not_shown:
            return ["These are the parameters of the function that you have chosen. Check them and save again."]
        return self.parameters.non_field_errors() or (
            [] if self.parameters.errors else self.errors.get("arguments_json", [])
        )

    @property
    def changed_parameters(self) -> list[str]:
        """The names of the parameters that are not as they were stored."""
        return changed_names(self._before, self.parameters.arguments if self.parameters else {})

    @cached_property
    def changed_data(self):
        names = [name for name in super().changed_data if name != "arguments_json"]
        return [*names, "arguments_json"] if self.parameters and self.changed_parameters else names

    def _show_backoff(self) -> None:
        if (backoff := _stored_backoff(self.instance)) is not None:
            cap = (backoff.cap or LONGEST_PAUSE).total_seconds()
            self.initial |= dict(zip(BACKOFF, (backoff.first.total_seconds(), backoff.factor, cap), strict=True))

    def clean(self):
        cleaned = super().clean()
        given = [cleaned.get(name) for name in BACKOFF]
        is_changed = given != [self.initial.get(name) for name in BACKOFF]
        if is_changed and not set(BACKOFF) & self.errors.keys():
            try:
                self._set_backoff(*given)
            except (TypeError, ValueError) as error:
                self.add_error("backoff_first", str(error))
        return cleaned

    def _set_backoff(self, first: float | None, factor: float | None, cap: float | None) -> None:
        """Raises TypeError or ValueError, which say what is wrong."""
        if first is None:
            if factor is not None or cap is not None:
                raise ValueError("A growth or a longest pause needs a first pause.")
            self.instance.backoff_json = None
            return
        usual = _stored_backoff(self.instance) or DEFAULT_BACKOFF
        given = {
            "first": first,
            "factor": DEFAULT_BACKOFF.factor if factor is None else factor,
            "cap": DEFAULT_BACKOFF.cap.total_seconds() if cap is None else cap,
            "jitter": usual.jitter,
        }
        self.instance.backoff_json = dumps(Backoff.from_json(given).to_json())

    def clean_queue(self):
        queue = self.cleaned_data["queue"]
        return _checked("queue", queue) if queue else queue

    def clean_arguments_json(self):
        if self.parameters is None:  # what is wrong then is the function
            return ""
        if self._were_not_shown or not self.parameters.is_valid():
            raise ValidationError("Mend the parameters.")
        self.instance.arguments_json = dumps(self.parameters.arguments)
        return self.instance.arguments_json

    @property
    def _were_not_shown(self) -> bool:
        return bool(self.parameters.fields) and self.data.get(SHOWN_FOR) != self.chosen

    def _offer_functions(self) -> None:
        choices = [(task.name, f"{task.label} ({task.name})") for task in registry]
        if self.instance.task and self.instance.task not in registry:
            choices.append((self.instance.task, f"{self.instance.task} (not registered)"))
        field = self.fields["task"]
        field.choices = [("", "---------"), *choices]
        field.widget.attrs |= {
            "hx-get": _address_of_parameters(self.instance),
            "hx-target": "#jobs-parameters",
            "hx-sync": "this:replace",
        }


def _address_of_parameters(job: Job) -> str:
    address = reverse("admin:jobs_job_parameters")
    return f"{address}?job={job.pk}" if job.pk else address


def _stored_backoff(job: Job) -> Backoff | None:
    """None also where somebody has stored what is none."""
    try:
        return job.backoff
    except (TypeError, ValueError):
        return None


def _checked(option: str, value: str) -> str:
    try:
        check_options({option: value}, allowed=(option,))
    except ValueError as error:
        raise ValidationError(str(error)) from None
    return value
