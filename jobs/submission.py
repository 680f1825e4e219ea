"""What a person submits in admin or pages: the parameters of a function, and how its run is to be treated."""

from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

from django import forms
from django.core.exceptions import ValidationError

from jobs.core.order import MAX_PRIORITY, MIN_PRIORITY
from jobs.errors import JobsError, ParameterError
from jobs.lifecycle import enqueue, enqueue_job, known_queues, run_again
from jobs.lifecycle.enqueue import job_options
from jobs.lifecycle.rerun import options_of
from jobs.models import Job, Run
from jobs.options import KEY_LENGTH, QUEUE_LENGTH, Options, check_options
from jobs.parameters import dumps
from jobs.parameters.base import Refused
from jobs.parameters.temporal import DatetimeType
from jobs.registry import TaskFunction, registry

NOTE_LENGTH = 500
# The name of the field that tells one press of a button from the next one.
PRESS, PRESS_LENGTH = "press", 64


class MomentField(forms.Field):
    """A date and time in the current time zone; its clean value is aware, or None."""

    def __init__(self, **options):
        self._type = DatetimeType()
        super().__init__(widget=self._type.form_field().widget, required=False, **options)

    def clean(self, raw):
        try:
            return self._type.from_text(raw) if raw else None
        except Refused as refused:
            text = refused.text()
        raise ValidationError(f"{text[:1].upper()}{text[1:]}.", code="invalid")


class Datalist(forms.TextInput):
    """A field for any text that suggests some."""

    template_name = "jobs/datalist.html"

    def __init__(self, suggestions):
        super().__init__()
        self._suggestions = suggestions

    def get_context(self, name, value, attrs):
        list_id = f"{(attrs or {}).get('id', name)}_list"
        context = super().get_context(name, value, {**(attrs or {}), "list": list_id})
        context["widget"]["suggestions"] = self._suggestions
        return context


class OptionsForm(forms.Form):
    """How one run is treated."""

    priority = forms.IntegerField(
        min_value=MIN_PRIORITY, max_value=MAX_PRIORITY,
        help_text=f"{MIN_PRIORITY} (most urgent) to {MAX_PRIORITY}. Lower starts first.",
    )  # fmt: skip
    queue = forms.CharField(max_length=QUEUE_LENGTH)
    run_after = MomentField(label="Not before", help_text="Empty: as soon as there is a free thread.")
    unique_key = forms.CharField(
        max_length=KEY_LENGTH, required=False, help_text="Nothing is stored while a run with this key is unfinished."
    )
    note = forms.CharField(max_length=NOTE_LENGTH, required=False, help_text="Kept with your name in the audit log.")

    def __init__(self, options: Options, data=None):
        shown = {"priority": options.priority, "queue": options.queue, "unique_key": options.unique_key or ""}
        super().__init__(data, initial=shown, prefix="run")
        self.fields["queue"].widget = Datalist(known_queues())
        self.fields["run_after"].help_text += f" {DatetimeType().hint}"

    def clean_queue(self):
        try:
            check_options({"queue": self.cleaned_data["queue"]}, allowed=("queue",))
        except ValueError as error:
            raise ValidationError(str(error)) from None
        return self.cleaned_data["queue"]

    @property
    def options(self) -> dict:
        """The options for `using`, once the form is valid."""
        chosen = {name: self.cleaned_data[name] for name in ("priority", "queue", "run_after")}
        return chosen | {"unique_key": self.cleaned_data["unique_key"] or None}


class StoredParameters(forms.Form):
    """Stands in for the form of parameters that this person must not see: they stay as they are stored."""

    arguments = None
    forgotten = ()


class Submission:
    """The forms of one submission, bound to `data` or fresh. `store` makes the run of what they say."""

    def __init__(self, task: TaskFunction, stored: dict | None, options: Options, store: Callable[..., Run], data=None):
        self.task = task
        self.press = new_press() if data is None else data.get(PRESS, "")[:PRESS_LENGTH]
        self.parameters = StoredParameters(data) if stored is None else task.form(data, stored=stored)
        self.options = OptionsForm(options, data)
        self._store = store

    def submit(self, actor) -> Run | None:
        """Store the run and return it; None if the forms, which then tell what is wrong, are not valid."""
        are_valid = self.parameters.is_valid(), self.options.is_valid()
        if not all(are_valid):
            return None
        note = self.options.cleaned_data["note"]
        try:
            return self._store(self.parameters.arguments, self.options.options, actor=actor, note=note)
        except (JobsError, ValueError) as error:
            self.parameters.add_error(None, self._told(error))
            return None

    def _told(self, error: Exception) -> str:
        """What went wrong. A ParameterError names values: none of parameters that this person must not see."""
        if isinstance(error, ParameterError) and isinstance(self.parameters, StoredParameters):
            return "The stored parameters of the job do not fit its function. Edit the job."
        return str(error)


def new_press() -> str:
    """For a page with a button that must not do its work twice."""
    return uuid4().hex


def of_task(task: TaskFunction, data=None) -> Submission:
    """A run of a registered function, outside of any job."""

    def store(arguments, options, **who):
        return enqueue(task, task.signature.bind((), arguments), replace(task.options, **options), **who)

    return Submission(task, {}, task.options, store, data)


def of_job(job: Job, data=None, *, sees_values: bool = False) -> Submission:
    """A run of a stored job. For who may see values its parameters are prefilled; for others they are fixed and not
    shown. Raises NotRegistered."""

    def store(arguments, options, **who):
        return enqueue_job(job, arguments=arguments, options=options, **who)

    task = registry.get(job.task)
    stored = stored_arguments(job) if sees_values else None
    return Submission(task, stored, job_options(job, task.options), store, data)


def of_run(run: Run, data=None) -> Submission:
    """A repetition of an ended run, prefilled with what it was given, for who may see values. Raises NotRegistered."""

    def store(arguments, options, **who):
        return run_again(run, arguments=arguments, options=options, press=forms.press, **who)

    forms = Submission(registry.get(run.task), stored_arguments(run), options_of(run), store, data)
    return forms


def stored_arguments(row: Job | Run) -> dict:
    """The parameters in a row's text, which somebody may have edited by SQL; empty if that is no JSON object."""
    try:
        arguments = row.arguments
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def changed_names(before: dict, now: dict) -> list[str]:
    """The names of the parameters whose JSON values differ: `1` and `True` are equal in Python and are not the same."""
    return sorted(name for name in before.keys() | now.keys() if _text(before, name) != _text(now, name))


def _text(arguments: dict, name: str) -> str | None:
    return dumps(arguments[name]) if name in arguments else None
