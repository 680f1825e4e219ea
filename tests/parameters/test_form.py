"""The form for a function's parameters: every type, shown to a browser and sent back, in any locale and time zone."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django import forms
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.utils import timezone as django_timezone
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.parameters import ParametersForm, Signature
from jobs.parameters.base import NOTHING
from jobs.parameters.models import MOST_CHOICES
from tests.names import named
from tests.parameters.support import (
    Colour,
    Region,
    any_speed,
    form_of,
    form_problem,
    given_back,
    one,
    read,
    same,
    shown,
    stored,
    typed,
    untouched,
)
from tests.parameters.test_round_trip import TYPES
from tests.parameters.typed_values import KEPT, MAIL, SEVERAL, TABLE, VALUES

PLACES = [(language, zone) for language in ("en-us", "de") for zone in ("UTC", "Europe/Berlin")]


@pytest.fixture(params=PLACES, ids=" ".join)
def place(request, settings):
    """A language and a time zone, in which numbers and dates would be written in their own ways."""
    language, settings.TIME_ZONE = request.param
    settings.USE_THOUSAND_SEPARATOR = True
    with translation.override(language):
        yield


@pytest.fixture
def rows(db):
    Group.objects.bulk_create([Group(pk=7, name="staff"), Group(pk=8, name="<others>")])
    Session.objects.create(session_key="abc", session_data="", expire_date=django_timezone.now())


def is_same_value(annotation, one_json, other):
    """A datetime is typed by the clock of the current time zone: the moment is the same, the offset may differ."""
    if "datetime.datetime" in str(annotation):
        return given_back(annotation, one_json) == given_back(annotation, other)
    return same(one_json, other)


def test_the_table_is_the_documented_one():
    page = (Path(__file__).parents[2] / "docs/parameters.md").read_text(encoding="utf-8")
    types = page.partition("## Types")[2].partition("\n## ")[0]
    first_cells = [line.split(" | ")[0][2:] for line in types.replace("\\|", "¦").splitlines() if line[:3] == "| `"]
    documented = [cell.replace("`", "").replace("¦", "|") for cell in first_cells]
    assert {*documented, "an Enum class", "a model class", "none, Any, object"} == set(VALUES)


@pytest.mark.parametrize(("annotation", "value"), TABLE, ids=named)
def test_what_is_shown_is_kept_and_can_be_typed(place, rows, annotation, value):
    json_value = stored(annotation, value)
    assert same(stored(annotation, json_value), json_value)
    sent = shown(form_of(annotation, stored=json_value))
    kept = form_of(annotation, sent, stored=json_value)
    assert kept.is_valid(), kept.errors
    assert same(kept.arguments, {"x": json_value})
    fresh = form_of(annotation, sent)
    assert fresh.is_valid(), fresh.errors
    assert is_same_value(annotation, fresh.arguments["x"], json_value)


@pytest.mark.parametrize(("annotation", "value"), TABLE, ids=named)
def test_its_text_at_a_command_line_stores_the_same(place, rows, annotation, value):
    json_value = stored(annotation, value)
    kind = one(annotation).parameters["x"].type
    assert is_same_value(annotation, read(annotation, kind.to_text(kind.from_value(json_value))), json_value)


@pytest.mark.parametrize(("annotation", "value"), KEPT, ids=named)
def test_what_no_text_can_tell_is_kept_where_nobody_touches_it(place, annotation, value):
    json_value = stored(annotation, value)
    assert same(untouched(annotation, stored=json_value), {"x": json_value})
    assert same(untouched(annotation, stored=json_value, default=None), {"x": json_value})
    field = form_of(annotation, stored=json_value).fields["x"]
    assert field.initial or not field.required, "the browser would insist on a text"


@pytest.mark.parametrize(("annotation", "value"), [*TABLE, *KEPT], ids=named)
def test_a_default_that_nobody_touches_is_not_stored(place, rows, annotation, value):
    assert untouched(annotation, default=value) == {}


ODD = [object(), [object()], "\x00", {"a": {1}}, -1, float("nan"), True, ()]


@pytest.mark.parametrize("annotation", {str(annotation): annotation for annotation, _ in TABLE}.values(), ids=named)
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: named(repr(odd)))
def test_what_is_no_value_of_the_type_shows_an_empty_field(rows, annotation, odd):
    for form in (form_of(annotation, stored=odd), form_of(annotation, default=odd)):
        str(form).encode()
        assert not any(value in repr(form.fields["x"].initial) for value in ("object at", "{1}", "nan"))


def test_a_stored_value_that_no_longer_fits_is_not_kept():
    assert form_of(int, stored="five").fields["x"].initial == ""
    assert form_problem(int, "", stored="five") == "Expected a whole number, such as 5; got nothing."
    assert untouched(int, stored="five", default=3) == {}
    assert untouched(bool, stored="five") == {"x": False}
    assert typed(int, "6", stored="five") == 6


@pytest.mark.parametrize("annotation", TYPES, ids=named)
@settings(any_speed, max_examples=25)
@given(data=st.data())
def test_whatever_is_stored_is_kept_where_nobody_touches_it(annotation, data):
    json_value = stored(annotation, data.draw(TYPES[annotation]))
    assert same(untouched(annotation, stored=json_value), {"x": json_value})


@settings(any_speed, max_examples=50)
@given(st.datetimes(timezones=st.timezones()), st.timezones())
def test_whatever_moment_is_stored_is_kept_in_any_time_zone(value, zone):
    json_value = stored(datetime, value)
    with django_timezone.override(zone):
        assert untouched(datetime, stored=json_value) == {"x": json_value}


EMPTY = [
    # annotation, default, what is stored for an empty text
    (int, 5, NOTHING),
    (str, "abc", ""),
    (MAIL, "a@example.com", ""),
    (list[int], [1], []),
    (list[dict], [{}], []),
    (SEVERAL, ["a"], []),
    (int | None, 5, None),
    (str | None, "abc", None),
    (list[int] | None, [1], None),
    (dict, {"a": 1}, NOTHING),
    (Region, Region.EU, NOTHING),
    (Any, 5, NOTHING),
    (date, date(2026, 11, 1), NOTHING),
]


@pytest.mark.parametrize(("annotation", "default", "expected"), EMPTY, ids=named)
def test_an_empty_text_where_there_is_a_default(annotation, default, expected):
    assert same(typed(annotation, "", default=default), expected)
    assert same(read(annotation, "", default=default), expected)
    assert same(typed(annotation, "", default=default, stored=stored(annotation, default)), expected)


REQUIRED = [
    int,
    float,
    str,
    date,
    datetime,
    time,
    timedelta,
    Decimal,
    UUID,
    Region,
    Literal["a"],
    list[int],
    list,
    dict,
]


@pytest.mark.parametrize("annotation", [*REQUIRED, Any, MAIL, SEVERAL, Annotated[str, forms.CharField()]], ids=named)
def test_an_empty_text_where_there_is_none(annotation):
    form = form_of(annotation)
    assert form.fields["x"].required
    assert " required" in str(form)
    for data in ("", {}):
        text = form_problem(annotation, data)
        assert text.startswith("Expected ")
        assert text.endswith("; got nothing.")
    with pytest.raises(ValueError, match=r"x: expected .*; got nothing$"):
        read(annotation, "")


def test_blanks_are_nothing_where_nothing_is_made_of_them():
    for annotation in (Annotated[str, forms.CharField()], list[int]):
        assert "; got " in form_problem(annotation, " \n ")
    assert typed(str, "  ") == "  "


def test_a_field_may_allow_an_empty_text():
    annotation = Annotated[str, forms.CharField(required=False)]
    assert typed(annotation, "") == ""
    assert not form_of(annotation).fields["x"].required


def test_a_box_for_a_bool_that_may_be_none_is_a_choice():
    for annotation in (bool | None, Annotated[bool, forms.BooleanField()] | None):
        for value in (True, False, None):
            assert same(untouched(annotation, stored=value), {"x": value})
            assert same(typed(annotation, shown(form_of(annotation, stored=value))), value)
        assert "<select" in str(form_of(annotation))


def test_every_member_of_an_enum_can_be_chosen():
    class Rights(Flag):
        NONE = 0
        READ = 1
        WRITE = 2
        ALL = 3

    @dataclass  # its instances have no hash
    class Shape:
        sides: int

    class Figure(Shape, Enum):
        TRIANGLE = 3
        SQUARE = 4

    for enum in (Rights, Figure, Colour):
        for member in enum.__members__.values():
            json_value = stored(enum, member)
            assert same(typed(enum, shown(form_of(enum, stored=json_value))), json_value)


def test_a_box():
    assert untouched(bool) == {"x": False}
    assert typed(bool, "on") is True
    assert typed(bool, {}, default=True) is False
    assert typed(bool, {}, stored=True) is False
    assert untouched(bool, default=None) == {}
    assert "checked" in str(form_of(bool, default=True))
    assert "checked" not in str(form_of(bool, stored=False, default=True))


def test_widgets():
    expected = {
        date: 'type="date" name="parameter-x" value="2026-11-01"',
        datetime: 'type="datetime-local"',
        time: 'type="time"',
        int: 'type="number"',
        Decimal: 'type="number"',
        bool: 'type="checkbox"',
        Region: "<select",
        list[int]: "<textarea",
        MAIL: 'type="email"',
    }
    for annotation, html in expected.items():
        value = "2026-11-01" if annotation is date else NOTHING
        with translation.override("de"):
            assert html in str(form_of(annotation, stored=value))
    assert 'type="text"' in str(form_of(Decimal, stored="1E+999"))
    assert "<textarea" in str(form_of(str, stored="a\nb"))


def test_labels_are_in_the_language_of_the_reader():
    from django.db.models import TextChoices
    from django.utils.translation import gettext_lazy

    class Answer(TextChoices):
        YES = "y", gettext_lazy("Yes")

    signature = one(Answer)
    with translation.override("de"):
        assert ">Ja<" in str(ParametersForm(signature))
    assert ">Yes<" in str(ParametersForm(signature))


def test_help_is_shown_as_text():
    def func(rows: int): ...

    form = ParametersForm(Signature.of(func, task_name="f"), helps={"rows": "Such as <rows> & more."})
    assert "Such as &lt;rows&gt; &amp; more." in str(form)
    assert form.fields["rows"].label == "Rows"


def test_all_parameters_in_their_order_and_what_is_forgotten():
    def func(b: int, a: str = "x", c: bool = False): ...

    signature = Signature.of(func, task_name="shop.tasks.func")
    form = ParametersForm(signature, stored={"gone": 1, "b": 5, "a": "y"})
    assert list(form.fields) == ["b", "a", "c"]
    assert form.forgotten == ["gone"]
    sent = ParametersForm(signature, shown(form), stored={"gone": 1, "b": 5, "a": "y"})
    assert sent.is_valid()
    assert list(sent.arguments.items()) == [("b", 5), ("a", "y")]


def test_names_that_forms_use_themselves():
    def func(self: int, fields: int, data: int, clean: int, prefix: int): ...

    signature = Signature.of(func, task_name="f")
    values = dict.fromkeys(signature.parameters, 1)
    form = ParametersForm(signature, shown(ParametersForm(signature, stored=values)), stored=values)
    assert form.is_valid()
    assert form.arguments == values


class TestModels:
    @pytest.fixture(autouse=True)
    def _rows(self, rows): ...

    def fill(self, count):
        missing = range(count - Group.objects.count())
        Group.objects.bulk_create(Group(pk=100 + number, name=f"group {number}") for number in missing)

    def test_a_select_of_all_rows(self, django_assert_num_queries):
        self.fill(MOST_CHOICES)
        with django_assert_num_queries(2):
            html = str(form_of(Group))
        assert html.count("<option") == MOST_CHOICES + 1
        assert "&lt;others&gt;" in html

    def test_a_field_for_the_key_where_there_are_more(self, django_assert_num_queries):
        self.fill(MOST_CHOICES + 1)
        with django_assert_num_queries(1) as queries:
            html = str(form_of(Group))
        assert f"LIMIT {MOST_CHOICES + 1}" in queries[0]["sql"]
        assert 'type="text"' in html
        assert typed(Group, "7") == 7
        assert untouched(Group, stored=7) == {"x": 7}

    def test_a_submission_reads_one_row(self, django_assert_num_queries):
        with django_assert_num_queries(2):
            assert typed(Group, "7") == 7

    def test_a_list_reads_no_row_twice(self, django_assert_num_queries):
        with django_assert_num_queries(2):
            assert form_of(list[Group], stored=[7, 8]).fields["x"].initial == "7\n8"

    def test_a_row_that_is_gone(self):
        assert "selected" not in str(form_of(Group, stored=9)).replace('value="" selected', "")
        assert form_problem(Group, "9") == "Expected the primary key of a Group; got '9': there is no Group with pk 9."
        assert form_problem(Group, "staff") == "Expected the primary key of a Group; got 'staff'."

    def test_a_row_is_chosen_or_none_is(self):
        assert typed(Group | None, "", default=None, stored=7) is None
        assert typed(User | None, "") is None
