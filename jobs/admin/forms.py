"""Typed parameters in the looks of the admin's own forms."""

from django.contrib.admin.helpers import Fieldset
from django.forms import Form
from django.utils.html import format_html_join

from jobs.registry import TaskFunction


def fieldset_of(form: Form, title: str, description: str = "") -> Fieldset:
    """The fields of a form for the admin's template, which takes a description for markup."""
    return Fieldset(form, title, fields=list(form.fields), description=description)


def parameter_fieldset(form: Form, task: TaskFunction) -> Fieldset:
    return fieldset_of(form, "Parameters", _told_about(form, task))


def _told_about(form: Form, task: TaskFunction):
    paragraphs = [task.help, *task.description.split("\n\n")]
    if not form.fields:
        paragraphs.append("It takes no parameters.")
    if form.forgotten:
        names = ", ".join(map(str, form.forgotten))
        paragraphs.append(f"The function has these stored parameters no more, and they will be dropped: {names}.")
    told = [paragraph for paragraph in paragraphs if paragraph.strip()]
    return format_html_join("", "<p>{}</p>", ((paragraph,) for paragraph in told))
