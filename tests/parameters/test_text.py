"""Texts that people type, in a form or at a command line: the type decides how one is read, never the looks of it."""

import time as clock
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django import forms
from django.contrib.auth.models import Group
from django.http import QueryDict
from django.utils import timezone, translation
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.errors import ParameterError
from jobs.parameters import ParametersForm, Signature
from jobs.parameters.base import NOTHING
from tests.names import named
from tests.parameters.support import (
    Access,
    Colour,
    Level,
    Odd,
    Region,
    Size,
    any_speed,
    form_of,
    form_problem,
    one,
    problem,
    read,
    same,
    stored,
    typed,
)
from tests.parameters.test_round_trip import TYPES

AN_ID = "123e4567-e89b-12d3-a456-426614174000"
MAIL = Annotated[str, forms.EmailField()]
SEVERAL = Annotated[list[str], forms.MultipleChoiceField(choices=[("a", "A"), ("b", "B")])]

READ = [
    # annotation, text, JSON value
    (str, "abc", "abc"),
    (str, "5", "5"),
    (str, '"abc"', '"abc"'),
    (str, "null", "null"),
    (str, " a ", " a "),
    (int, "5", 5),
    (int, " -5 ", -5),
    (int, "5.0", 5),
    (int, "9" * 4300, int("9" * 4300)),
    (float, "1.5", 1.5),
    (float, "5", 5.0),
    (float, "1e3", 1000.0),
    *[(bool, text, True) for text in ("true", "True", "on", "yes", "1", " TRUE ")],
    *[(bool, text, False) for text in ("false", "False", "off", "no", "0")],
    (date, "2026-11-01", "2026-11-01"),
    (date, " 2026-11-1 ", "2026-11-01"),
    (datetime, "2026-11-01T09:30:00+01:00", "2026-11-01T09:30:00+01:00"),
    (datetime, "2026-11-01 09:30Z", "2026-11-01T09:30:00+00:00"),
    (datetime, "2026-11-01T09:30", "2026-11-01T09:30:00+00:00"),
    (time, "09:30:00", "09:30:00"),
    (time, "9:30", "09:30:00"),
    (time, "09:30:00.5", "09:30:00.500000"),
    (timedelta, "90", "P0DT00H01M30S"),
    (timedelta, "2:30:00", "P0DT02H30M00S"),
    (timedelta, "1 12:00:00", "P1DT12H00M00S"),
    (timedelta, "P0DT00H00M05S", "P0DT00H00M05S"),
    (timedelta, "PT5S", "P0DT00H00M05S"),
    (Decimal, "19.90", "19.90"),
    (Decimal, " 1e5 ", "1E+5"),
    (UUID, AN_ID, AN_ID),
    (UUID, AN_ID.upper().replace("-", ""), AN_ID),
    (Literal["eu", "5"], "5", "5"),
    (Literal["eu", 5], "5", 5),
    (Literal["eu", 5], "eu", "eu"),
    (Literal["5", 5], '"5"', "5"),
    (Literal["5", 5], "5", 5),
    (Literal["", None], '""', ""),
    (Literal["", None], "null", None),
    (Region, "eu", "eu"),
    (Size, "s", "s"),
    (Level, "2", 2),
    (Odd, "PAIR", "PAIR"),
    (list, '["a", 1]', ["a", 1]),
    (list[date], '["2026-11-01"]', ["2026-11-01"]),
    (list[date], "2026-11-01\n 2026-11-02 \r\n\n", ["2026-11-01", "2026-11-02"]),
    (list[str], "a b\n5", ["a b", "5"]),
    (list[bool], "yes\nno", [True, False]),
    (list[Level], "1\n2", [1, 2]),
    (list[MAIL], "a@example.com", ["a@example.com"]),
    (list[int | None], "[1, null]", [1, None]),
    (dict, '{"a": 1}', {"a": 1}),
    (dict[str, float], '{"a": 1}', {"a": 1.0}),
    (Any, "5", 5),
    (Any, '"5"', "5"),
    (Any, "null", None),
    (int | None, "5", 5),
    (int | None, "", None),
    (str | None, "", None),
    (str | None, "null", "null"),
    (date | None, "2026-11-01", "2026-11-01"),
    (bool | None, "false", False),
    (Annotated[int, forms.IntegerField(min_value=1)], "5", 5),
    (Annotated[str, forms.CharField()], " a ", "a"),
    (MAIL, "a@example.com", "a@example.com"),
    (Annotated[str | None, forms.EmailField()], "", None),
    (SEVERAL, '["a", "b"]', ["a", "b"]),
]


@pytest.mark.parametrize("language", ["en-us", "de"])
@pytest.mark.parametrize(("annotation", "text", "json_value"), READ, ids=named)
def test_a_text_is_read_as_the_type_says_at_both_doors(settings, language, annotation, text, json_value):
    settings.USE_THOUSAND_SEPARATOR = True
    with translation.override(language):
        assert same(read(annotation, text), json_value)
        assert same(typed(annotation, text), json_value)
    assert same(stored(annotation, json_value), json_value)


@pytest.mark.parametrize("annotation", [date, Annotated[date, forms.DateField()]], ids=["date", "field"])
def test_dates_are_not_read_by_the_locale(annotation):
    for language in ("de", "en-gb"):
        with translation.override(language):
            for text in ("01.02.2026", "13/12/2026"):
                assert f"got '{text}'" in form_problem(annotation, text)


@pytest.mark.parametrize("annotation", [float, Decimal, Annotated[float, forms.FloatField(localize=True)]], ids=named)
def test_numbers_are_not_read_by_the_locale(settings, annotation):
    settings.USE_THOUSAND_SEPARATOR = True
    texts = {}
    for language in ("de", "en-us"):
        with translation.override(language):
            texts[language] = (str(typed(annotation, "1.5")), form_of(annotation, "1,5").is_valid())
    assert texts["de"] == texts["en-us"]
    assert texts["de"][0] == "1.5"


LEVELS = 20_000  # more than any interpreter follows
NOT_READ = [
    # annotation, texts
    (int, ["five", '"5"', "5.5", "1,000", "1" * 5000, "9" * 10**6, "NaN", "0x10", "  ", "1e3"]),
    (float, ["NaN", "inf", "1e999", "1,5", "abc", "9" * 10**6, "--1"]),
    (bool, ["maybe", "2", "onn", "null", "\x00"]),
    (date, ['"2026-11-01"', "9999-99-99", "2026-02-30", "01.11.2026", "11/01/2026", "today", "2026-11-01T00:00"]),
    (datetime, ["now", "9999-99-99T99:99", "2026-11-01 25:00", "2026-11-01T09:30+99:99", "1793523600", "\ud800", "  "]),
    (time, ["25:00", "9", "09:30Z", "noon"]),
    (timedelta, ["soon", "1 year", "9" * 400, "99999999999 00:00:00", "-P999999999DT24H", "9" * 10**6]),
    (Decimal, ["NaN", "sNaN", "Infinity", "1,5", "1E+99999999999999999999", "x" * 10**6, "\x00"]),
    (UUID, ["123", "0" * 33, "x" * 10**6, "  "]),
    (Literal["eu", "us"], ["EU", " eu", "asia", '"eu"', "\ud800"]),
    (Literal["eu", 5], ["05", "5.0"]),
    (Level, ["HIGH", "3", "02"]),
    (Access, ["3", "0", "READ"]),
    (Odd, ["a", "1"]),
    (Colour, ["ROUGE"]),
    (list, ["a,b", '{"a": 1}', "[" * LEVELS, "[NaN]", "[1e999]", "null", "[" * 102 + "]" * 102]),
    (list[list[int]], ["1\n2", "[1]", "[[1], 2]", "[" * LEVELS]),
    (list[int], ["1,2", "1\nx", "[1", "[1.5]", "[[1]]", '["1"]', "[" + "9" * 5000 + "]"]),
    (dict, ["{'a': 1}", "[]", '{"a": NaN}', '{"a":' * LEVELS, '{1: 2}', "5"]),
    (Any, ["abc", "None", "True", "NaN", "-Infinity", "1e999", "9" * 10**6, "[" * LEVELS, "\x00", "{} {}"]),
    (int | None, ["None", "null"]),
    (bool | None, ["maybe", "None"]),
    (MAIL, ["nobody", "a@b@c", "x" * 10**6]),
    (Annotated[dict, forms.JSONField()], ["[" * LEVELS, "9" * 5000, '{"a": NaN}', "[]", "{"]),
    (Annotated[int, forms.ChoiceField(choices=[(1, "one")])], ["2", "one"]),
    (Annotated[date, forms.DateField()], ["9999-99-99", "today"]),
    (Annotated[bool, forms.BooleanField()], ["maybe"]),
    (SEVERAL, ['["c"]', "c", "[" * LEVELS]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("annotation", "text"),
    [pytest.param(kind, text, id=f"{named(kind)}-{text[:20]!r}") for kind, texts in NOT_READ for text in texts],
)
def test_nothing_is_guessed_and_both_doors_say_the_same(annotation, text):
    with pytest.raises(ParameterError) as caught:
        read(annotation, text)
    assert list(caught.value.errors) == ["x"]
    words = caught.value.errors["x"]
    assert "expected " in words
    assert "; got " in words
    assert len(words) < 500
    assert words.isprintable()
    assert form_problem(annotation, text) == f"{words[:1].upper()}{words[1:].removesuffix('.')}."


NASTY = [
    "", " ", "\x00", "\ud800", "\r\n", "on", "maybe", "null", "{}", "[]", "[[]]", "[[[1]]]", "0", "-0", "1e999999999",
    "-1e-999999999", "9" * 4301, "[" * LEVELS, '{"a":' * LEVELS, "9999-99-99", "0001-01-01", "9999-12-31T23:59:59",
    "0001-01-01T00:00-23:59", "-999999999 00:00:00", "P", "PT", "٣", "½", "1_0", "\ufeff1", "\u2028", "%s", "{0}",
]  # fmt: skip
KINDS = [
    *TYPES, datetime, Access | None, bool | None, list[str], list[bool], list[list[int]], list[datetime], MAIL, SEVERAL,
    SEVERAL | None, Annotated[bool, forms.BooleanField()], Annotated[dict, forms.JSONField()], list[Group], Group,
    Annotated[str, forms.SlugField()], Annotated[str, forms.URLField(assume_scheme="https")],
    Annotated[str, forms.GenericIPAddressField()], Annotated[datetime, forms.SplitDateTimeField()],
    Annotated[str, forms.FileField()], Annotated[list[Group], forms.ModelMultipleChoiceField(Group.objects.all())],
]  # fmt: skip


def check_whatever_is_sent(annotation):
    key = "parameter-x"
    sent = [{key: text} for text in NASTY]
    sent += [{}, {key: []}, {key: ["a", "\x00"]}, {key: [["a"]]}, {key: 5}, {key: True}, {key: {"a": 1}}, {key: b"a"}]
    sent += [QueryDict(f"{key}=1&{key}=maybe&{key}=on"), QueryDict(f"{key}=%ff%00%ed%a0%80&other=1")]
    for data in sent:
        form = form_of(annotation, data)
        str(form).encode()
        if form.is_valid():
            assert same(stored(annotation, form.arguments["x"]), form.arguments["x"])


@pytest.mark.django_db
@pytest.mark.parametrize("annotation", KINDS, ids=named)
def test_whatever_is_sent_is_an_error_or_a_value_of_the_type(annotation):
    check_whatever_is_sent(annotation)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Adak"])
@pytest.mark.parametrize(
    "annotation", [datetime, list[datetime], Annotated[datetime, forms.DateTimeField()]], ids=named
)
def test_in_every_time_zone(annotation, zone):
    with timezone.override(zone):
        check_whatever_is_sent(annotation)


@pytest.mark.django_db
@pytest.mark.parametrize("annotation", KINDS, ids=named)
def test_at_a_command_line_as_well(annotation):
    for text in NASTY:
        with suppress(ParameterError):
            json_value = read(annotation, text)
            assert same(stored(annotation, json_value), json_value)


def test_a_huge_exponent_costs_nothing():
    before = clock.process_time()
    assert typed(Decimal, "1e999999999") == read(Decimal, "1e999999999") == "1E+999999999"
    field = forms.DecimalField(min_value=0, max_value=5, max_digits=5, step_size=Decimal("0.5"))
    for annotation in (Annotated[Decimal, field], Annotated[int, field], Annotated[float, field]):
        assert "got '1e999999999'" in form_problem(annotation, "1e999999999")
    str(form_of(Decimal, stored="1E+999999999"))
    assert clock.process_time() - before < 1


@pytest.mark.parametrize("annotation", TYPES, ids=named)
@settings(any_speed, max_examples=50)
@given(data=st.data())
def test_the_text_of_a_value_stands_for_it(annotation, data):
    value = data.draw(TYPES[annotation])
    kind = one(annotation).parameters["x"].type
    text = kind.to_text(value)
    if text:
        assert same(kind.to_json(kind.from_text(text)), stored(annotation, value))


@any_speed
@given(value=st.datetimes(timezones=st.timezones()), zone=st.timezones())
def test_the_text_of_a_moment_stands_for_it_in_any_time_zone(value, zone):
    kind = one(datetime).parameters["x"].type
    with timezone.override(zone):
        assert kind.from_text(kind.to_text(value)).timestamp() == value.timestamp()


@pytest.mark.parametrize("annotation", [list[str], list[int], list[Decimal], list[time]], ids=named)
@settings(any_speed, max_examples=50)
@given(data=st.data())
def test_the_text_of_a_list_stands_for_it(annotation, data):
    of = {str: TYPES[str], int: TYPES[int], Decimal: TYPES[Decimal], time: TYPES[time]}
    value = data.draw(st.lists(of[annotation.__args__[0]]))
    assert same(read(annotation, one(annotation).parameters["x"].type.to_text(value)), stored(annotation, value))


class TestClockChanges:
    @pytest.fixture(autouse=True)
    def _berlin(self):
        with timezone.override("Europe/Berlin"):
            yield

    def test_a_time_without_an_offset_is_in_the_current_time_zone(self):
        assert typed(datetime, "2026-07-01T09:30") == read(datetime, "2026-07-01 09:30") == "2026-07-01T09:30:00+02:00"
        assert "In the time zone Europe/Berlin." in str(form_of(datetime))

    def test_a_time_that_exists_twice_is_refused_with_a_hint(self):
        words = form_problem(datetime, "2026-10-25T02:30")
        assert words.startswith("Expected a date and a time, such as 2026-11-01 09:30; got '2026-10-25T02:30': ")
        assert words.endswith("give the offset, as in 2026-10-25T02:30:00+02:00.")
        assert typed(datetime, "2026-10-25T02:30:00+02:00") == "2026-10-25T02:30:00+02:00"

    def test_a_time_that_never_was_is_refused_with_a_hint(self):
        assert "the clocks of Europe/Berlin change there" in form_problem(datetime, "2026-03-29T02:30")
        assert "the clocks of Europe/Berlin change there" in form_problem(list[datetime], "2026-03-29T02:30")

    def test_a_repeated_hour_is_shown_with_its_offset(self):
        for text in ("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"):
            html = str(form_of(datetime, stored=text))
            assert f'value="{text}"' in html
            assert 'type="text"' in html


def test_the_error_names_the_index():
    assert form_problem(list[date], "2026-11-01\n\nx") == "At [1]: expected a date, such as 2026-11-01; got 'x'."
    assert form_problem(list[Annotated[int, forms.IntegerField(max_value=5)]], "1\n2\n7").startswith(
        "At [2]: expected "
    )
    assert form_problem(dict[str, list[int]], '{"a": [1, "x"]}').startswith("At ['a'][1]: expected a whole number")
    assert form_problem(Annotated[dict[str, int], forms.JSONField()], '{"a": "x"}').startswith("At ['a']: expected ")


def test_the_message_explains_the_quotes_that_text_needs_in_json():
    assert form_problem(Any, "abc") == "Expected JSON; got 'abc': text needs double quotes, as in \"text\"."


def test_the_words_of_a_field_are_the_same_in_every_language():
    for language in ("de", "en-us"):
        with translation.override(language):
            assert form_problem(MAIL, "nobody").endswith("got 'nobody': Enter a valid email address.")
            assert problem(MAIL, "nobody").endswith("Enter a valid email address.")


def test_all_problems_are_told_at_once_also_what_is_missing_or_unknown():
    def func(a: int, b: date, c: str, e: bool): ...

    signature = Signature.of(func, task_name="shop.tasks.func")
    with pytest.raises(ParameterError) as caught:
        signature.from_text({"a": "x", "b": "y", "d": "z"})
    assert list(caught.value.errors) == ["a", "b", "c", "e", "d"]
    assert caught.value.errors["c"] == 'is missing; expected text, such as "abc"'
    form = ParametersForm(signature, {"parameter-a": "x", "parameter-b": "y", "parameter-d": "z"})
    assert list(form.errors) == ["a", "b", "c"]


def test_what_is_not_named_at_a_command_line_is_not_stored():
    def func(a: str = "x", b: bool = True, c: int | None = 5): ...

    assert Signature.of(func, task_name="f").from_text({}) == {}
    assert Signature.of(func, task_name="f").from_text({"a": "", "b": "", "c": ""}) == {"a": "", "c": None}


def test_an_empty_text_for_a_bool():
    for annotation in (bool, Annotated[bool, forms.BooleanField()]):
        assert read(annotation, "") is typed(annotation, "") is False
        assert read(annotation, "", default=True) is typed(annotation, "", default=True) is NOTHING


def test_a_field_that_is_not_required_cannot_give_a_type_an_empty_value():
    annotation = Annotated[int, forms.IntegerField(required=False)]
    assert form_problem(annotation, "").endswith("; got nothing.")
    assert read(annotation, "", default=5) is NOTHING


def test_a_field_that_repeats_what_was_typed():
    choice = Annotated[str, forms.ChoiceField(choices=[("a", "A")])]
    assert "\\ud800" in form_problem(choice, "\ud800")
    assert len(form_problem(choice, "x" * 10**6)) < 600
