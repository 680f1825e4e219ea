"""What is typed into the admin is stored alike in every language, and so is what is only shown and saved again."""

import enum
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django import forms
from django.contrib.auth.models import Group
from django.utils import translation

import jobs
from jobs.models import Job
from jobs.registry import registry
from tests.admin.support import filled_in, job_fields, page, url
from tests.names import named


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


KEY = "123e4567-e89b-12d3-a456-426614174000"

# For every type of the table: what is typed, and what is stored.
CASES = [
    (int, "1234567", "1234567"),
    (int, "-5", "-5"),
    (float, "1234.5", "1234.5"),
    (float, "0.001", "0.001"),
    (bool, "on", "true"),
    (str, "1,5 und 1.5", '"1,5 und 1.5"'),
    (date, "2026-11-01", '"2026-11-01"'),
    (datetime, "2026-11-01T09:30:00", '"2026-11-01T09:30:00+00:00"'),
    (time, "09:30", '"09:30:00"'),
    (timedelta, "1 12:00:00", '"P1DT12H00M00S"'),
    (Decimal, "1234.50", '"1234.50"'),
    (UUID, KEY, f'"{KEY}"'),
    (Literal["a", "b"], None, '"b"'),
    (Colour, None, '"blue"'),
    (list, '[1, "a", 2.5]', '[1,"a",2.5]'),
    (list[float], "1.5\r\n2.5", "[1.5,2.5]"),
    (dict, '{"a": 1.5}', '{"a":1.5}'),
    (dict[str, Decimal], '{"a": "1.50"}', '{"a":"1.50"}'),
    (Decimal | None, "1234.50", '"1234.50"'),
    (float | None, "1234.5", "1234.5"),
    (Group, None, "1234"),
    (Annotated[str, forms.EmailField()], "ada@example.org", '"ada@example.org"'),
    (Any, '{"a": [1.5, null]}', '{"a":[1.5,null]}'),
]
CHOICES = {'"b"': "b", '"blue"': "BLUE", "1234": "1234"}
LANGUAGES = ("en-us", "de")


@pytest.fixture(params=CASES, ids=lambda case: named(case[0]))
def case(request, db):
    """A function with one parameter of the type, what is typed for it, and what is stored."""
    annotation, typed, stored = request.param
    Group.objects.create(pk=1234, name="Group")

    def func(value): ...

    func.__annotations__ = {"value": annotation}
    task = jobs.register(func, name="tests.admin.one_value")
    yield task, typed, f'{{"value":{stored}}}'
    registry.discard(task.name)


def choice(html: str, stored: str) -> str:
    """The value of the choice that stands for what is stored."""
    wanted = stored.partition(":")[2].rstrip("}").strip('"')
    values = [part.partition('"')[0] for part in html.partition('name="parameter-value"')[2].split('value="')[1:]]
    return next(value for value in values if value.strip('"').lower() == wanted)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_typed_is_stored_alike(admin_client, settings, language, case):
    settings.USE_THOUSAND_SEPARATOR = True
    task, typed, stored = case
    with translation.override(language):
        if typed is None:
            html = admin_client.get(url("job", "parameters"), {"task": task.name}).content.decode()
            typed = choice(html, stored)
        response = admin_client.post(url("job", "add"), job_fields(task.name, **{"parameter-value": typed}))
    assert response.status_code == 302, response.context["adminform"].form.parameters.errors
    assert Job.objects.get().arguments_json == stored


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_shown_and_saved_again_stays_as_it_was(admin_client, settings, language, case):
    settings.USE_THOUSAND_SEPARATOR = True
    task, _, stored = case
    job = Job.objects.create(name="One value", task=task.name, arguments_json=stored, priority=-12, max_losses=1000)
    with translation.override(language):
        sent = filled_in(page(admin_client, url("job", "change", job.pk)))
        assert admin_client.post(url("job", "change", job.pk), sent).status_code == 302
    job.refresh_from_db()
    assert (job.arguments_json, job.priority, job.max_losses) == (stored, -12, 1000)
