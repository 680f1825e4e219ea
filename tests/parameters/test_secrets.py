"""Values of secret names are masked at any depth, and no message shows them."""

from copy import deepcopy
from datetime import date
from typing import Annotated, Literal

import pytest
from django import forms
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.views.debug import SafeExceptionReporterFilter

from jobs.errors import ParameterError
from jobs.parameters import Signature, mask
from tests.parameters.support import (
    Region,
    one,
    problem,
)

STARS = SafeExceptionReporterFilter.cleansed_substitute
SECRET = "S3CR3T-1"


def test_secret_names_are_masked_at_any_depth():
    arguments = {
        "password": SECRET,
        "data": {"api_key": SECRET, "rows": [{"Token": {"a": SECRET}}, [{"client_secret": [SECRET]}]], "name": "shop"},
        "SIGNATURE": None,
        "day": "2026-11-01",
    }
    kept = deepcopy(arguments)
    assert mask(arguments) == {
        "password": STARS,
        "data": {"api_key": STARS, "rows": [{"Token": STARS}, [{"client_secret": STARS}]], "name": "shop"},
        "SIGNATURE": STARS,
        "day": "2026-11-01",
    }
    assert arguments == kept


@pytest.mark.parametrize("name", ["api", "Auth_header", "TOKEN", "key", "my_secret_thing", "passphrase", "signature"])
def test_the_names_are_those_of_django(name):
    assert mask({name: 1, "rows": 1}) == {name: STARS, "rows": 1}


def refuse_aloud(value):
    raise ValidationError(f"{value} is not good")


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, SECRET),
        (str, SECRET.encode()),
        (date, SECRET),
        (Literal["a"], SECRET),
        (Region, SECRET),
        (list[int], [SECRET]),
        (dict, {SECRET: {1}}),
        (dict[str, dict[str, int]], {SECRET: {SECRET: SECRET}}),
        (object, {SECRET}),
        (object, {"a": [SECRET.encode()]}),
        (Annotated[str, forms.EmailField()], SECRET),
        (Annotated[str, forms.CharField(validators=[refuse_aloud])], SECRET),
        (int | None, SECRET),
    ],
)
def test_the_value_of_a_secret_name_is_in_no_message(annotation, value):
    text = problem(annotation, value, name="api_key")
    assert "S3CR3T" not in text
    assert "expected " in text
    assert "(not shown: its name says that it is secret)" in text


@pytest.mark.django_db
def test_the_missing_primary_key_of_a_secret_name_is_in_no_message():
    text = problem(Session, SECRET, name="session_key")
    assert "S3CR3T" not in text
    assert "got str (not shown" in text


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (object, {"api_key": SECRET.encode()}),
        (object, {"rows": [{"api_key": [{SECRET: {SECRET}}]}]}),
        (dict[str, dict[str, int]], {"tokens": {SECRET: SECRET}}),
        (int, {"password": SECRET}),
        (list, {"rows": [{"password": SECRET}]}),
        (dict, [{"password": SECRET}]),
        (dict, '{"password": "S3CR3T"}'),
        (dict, b'{"password": "S3CR3T"}'),
        (dict, "password=S3CR3T"),
        (dict, ["x" * 70 + "password=S3CR3T"]),
    ],
)
def test_secrets_inside_of_a_value_are_in_no_message(annotation, value):
    text = problem(annotation, value, name="data")
    assert "S3CR3T" not in text


def test_an_object_of_an_unknown_class_is_not_shown():
    class Credentials:
        def __repr__(self):
            return f"Credentials({SECRET!r})"

    assert problem(int, Credentials()).endswith("got Credentials")
    assert problem(int, [Credentials()]).endswith("got list [<Credentials>]")


def test_nothing_is_shown_of_a_typed_secret():
    def func(api_key: int, data: dict): ...

    with pytest.raises(ParameterError) as caught:
        Signature.of(func, task_name="shop.tasks.func").from_text({"api_key": SECRET, "data": '{"token": "S3CR3T"'})
    assert list(caught.value.errors) == ["api_key", "data"]
    assert "S3CR3T" not in str(caught.value) + repr(caught.value)
    assert caught.value.__context__ is None


def test_the_start_of_a_run_shows_none_either():
    with pytest.raises(ParameterError) as caught:
        one(int, name="api_key").to_call({"api_key": SECRET})
    assert "S3CR3T" not in str(caught.value)
