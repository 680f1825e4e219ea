"""Texts typed at a command line: the type decides how one is read, never the looks of the text."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django import forms
from django.contrib.sessions.models import Session

from jobs.errors import ParameterError
from jobs.parameters import Signature
from tests.parameters.support import Level, Odd, Region, one, same


def read(annotation, text):
    return one(annotation).from_text({"x": text})["x"]


@pytest.mark.parametrize(
    ("annotation", "text", "stored"),
    [
        (str, "abc", "abc"),
        (str, "5", "5"),
        (str, '"abc"', '"abc"'),
        (str, "null", "null"),
        (str, "", ""),
        (int, "5", 5),
        (int, " -5 ", -5),
        (float, "1.5", 1.5),
        (float, "5", 5.0),
        (bool, "true", True),
        (date, "2026-11-01", "2026-11-01"),
        (datetime, "2026-11-01T09:30:00+01:00", "2026-11-01T09:30:00+01:00"),
        (time, "09:30:00", "09:30:00"),
        (timedelta, "P0DT00H00M05S", "P0DT00H00M05S"),
        (Decimal, "19.90", "19.90"),
        (UUID, "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        (Literal["eu", "5"], "5", "5"),
        (Literal["eu", 5], "5", 5),
        (Literal["eu", 5], '"eu"', "eu"),
        (Region, "eu", "eu"),
        (Level, "2", 2),
        (Odd, "PAIR", "PAIR"),
        (list, '["a", 1]', ["a", 1]),
        (list[date], '["2026-11-01"]', ["2026-11-01"]),
        (dict, '{"a": 1}', {"a": 1}),
        (Any, "5", 5),
        (Any, '"5"', "5"),
        (Any, "null", None),
        (int | None, "null", None),
        (int | None, "5", 5),
        (date | None, "2026-11-01", "2026-11-01"),
        (date | None, "null", None),
        (str | None, "null", None),
        (str | None, "", ""),
        (Annotated[int, forms.IntegerField(min_value=1)], "5", 5),
        (Annotated[str, forms.EmailField()], "a@example.com", "a@example.com"),
        (Annotated[str | None, forms.EmailField()], "null", None),
    ],
)
def test_a_text_is_read_as_the_type_says(annotation, text, stored):
    assert same(read(annotation, text), stored)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "five"),
        (int, ""),
        (int, '"5"'),
        (int, "5.0"),
        (int, "1" * 5000),
        (float, "NaN"),
        (float, "1e999"),
        (bool, "True"),
        (bool, "1"),
        (date, '"2026-11-01"'),
        (list, "a,b"),
        (list, '{"a": 1}'),
        (list, "[" * 100_000),
        (dict, "{'a': 1}"),
        (Any, "abc"),
        (Any, "None"),
        (Any, ""),
        (int | None, "None"),
        (int | None, ""),
        (date | None, ""),
        (Level, "HIGH"),
        (Literal["eu", 5], "eu"),
        (Annotated[str, forms.EmailField()], "nobody"),
    ],
)
def test_nothing_is_guessed(annotation, text):
    with pytest.raises(ParameterError, match=r"shop\.tasks\.one: x: expected "):
        read(annotation, text)


def test_the_message_explains_the_quotes_that_text_needs_in_json():
    with pytest.raises(ParameterError) as caught:
        read(Any, "abc")
    assert caught.value.errors["x"].startswith("expected the JSON text of JSON")
    assert caught.value.errors["x"].endswith("got str 'abc': text needs double quotes, as in \"text\"")


def test_all_problems_are_told_at_once_also_what_is_missing_or_unknown():
    def func(a: int, b: date, c: str): ...

    with pytest.raises(ParameterError) as caught:
        Signature.of(func, task_name="shop.tasks.func").from_text({"a": "x", "b": "y", "d": "z"})
    assert list(caught.value.errors) == ["a", "b", "c", "d"]


def test_a_primary_key_is_read_as_its_own_type_says():
    parameter = one(Session).parameters["x"]
    assert parameter.type.from_text("5") == "5"
