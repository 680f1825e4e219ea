"""Every row of the table: what is stored for which value, and what is refused."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID

import pytest
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from tests.parameters.support import (
    Access,
    Colour,
    Level,
    Mixed,
    Number,
    Odd,
    Region,
    Size,
    given_back,
    one,
    problem,
    same,
    stored,
)

AN_ID = UUID("123e4567-e89b-12d3-a456-426614174000")
NAN, INFINITY = float("nan"), float("inf")


class Plain:
    pass


ACCEPTED = [
    # annotation, value, JSON form, what the function gets
    (int, 5, 5, 5),
    (int, -(2**63) - 1, -(2**63) - 1, -(2**63) - 1),
    (int, 10**4300 - 1, 10**4300 - 1, 10**4300 - 1),
    (int, Level.HIGH, 2, 2),
    (float, 0.1, 0.1, 0.1),
    (float, 5, 5.0, 5.0),
    (float, -0.0, -0.0, -0.0),
    (float, Level.LOW, 1.0, 1.0),
    (bool, True, True, True),
    (bool, False, False, False),
    (str, "é", "é", "é"),
    (str, "", "", ""),
    (str, "a\x00b\ud800\U0001f41d", "a\x00b\ud800\U0001f41d", "a\x00b\ud800\U0001f41d"),
    (str, "\udc00\ud800", "\udc00\ud800", "\udc00\ud800"),
    (str, mark_safe("<b>"), "<b>", "<b>"),
    (str, Size.SMALL, "s", "s"),
    (str, Mixed.A, "a", "a"),
    (date, date(2026, 11, 1), "2026-11-01", date(2026, 11, 1)),
    (date, date(1, 1, 1), "0001-01-01", date(1, 1, 1)),
    (
        datetime,
        datetime(2026, 11, 1, 9, 30, tzinfo=UTC),
        "2026-11-01T09:30:00+00:00",
        datetime(2026, 11, 1, 9, 30, tzinfo=UTC),
    ),
    (time, time(9, 30), "09:30:00", time(9, 30)),
    (time, time(9, 30, 0, 1), "09:30:00.000001", time(9, 30, 0, 1)),
    (timedelta, timedelta(days=1, hours=2, minutes=30), "P1DT02H30M00S", timedelta(days=1, hours=2, minutes=30)),
    (timedelta, timedelta(microseconds=-1), "-P0DT00H00M00.000001S", timedelta(microseconds=-1)),
    (timedelta, timedelta.max, "P999999999DT23H59M59.999999S", timedelta.max),
    (timedelta, timedelta.min, "-P999999999DT00H00M00S", timedelta.min),
    (Decimal, Decimal("1.10"), "1.10", Decimal("1.10")),
    (Decimal, Decimal("1E+5"), "1E+5", Decimal("1E+5")),
    (Decimal, Decimal("-0"), "-0", Decimal("-0")),
    (UUID, AN_ID, str(AN_ID), AN_ID),
    (Literal["eu", "us"], "us", "us", "us"),
    (Literal[1, True, None, "1"], True, True, True),
    (Literal[1, True, None, "1"], 1, 1, 1),
    (Literal[1, True, None, "1"], None, None, None),
    (Literal[True, 1], 1, 1, 1),
    (Region, Region.EU, "eu", Region.EU),
    (Size, Size.LARGE, "l", Size.LARGE),
    (Mixed, Mixed.A, "a", Mixed.A),
    (Level, Level.HIGH, 2, Level.HIGH),
    (Number, Number.ONE, 1, Number.ONE),
    (Access, Access.READ | Access.WRITE, 3, Access.READ | Access.WRITE),
    (Odd, Odd.NUMBER, "NUMBER", Odd.NUMBER),
    (Odd, Odd.PAIR, "PAIR", Odd.PAIR),
    (Colour, Colour.ROUGE, "red", Colour.RED),
    (list, [1, "a", None], [1, "a", None], [1, "a", None]),
    (list[float], [1, 2.5], [1.0, 2.5], [1.0, 2.5]),
    (
        list[date],
        [date(2026, 11, 1), "2026-11-02"],
        ["2026-11-01", "2026-11-02"],
        [date(2026, 11, 1), date(2026, 11, 2)],
    ),
    (list[list[UUID]], [[AN_ID], []], [[str(AN_ID)], []], [[AN_ID], []]),
    (list[int | None], [1, None], [1, None], [1, None]),
    (dict, {"a": [1]}, {"a": [1]}, {"a": [1]}),
    (dict[str, Decimal], {"a": Decimal("1.0")}, {"a": "1.0"}, {"a": Decimal("1.0")}),
    (dict[str, Any], {Size.SMALL: {}}, {"s": {}}, {"s": {}}),
    (date | None, None, None, None),
    (date | None, date(2026, 11, 1), "2026-11-01", date(2026, 11, 1)),
    (Optional[int], 0, 0, 0),  # noqa: UP045
    (Union[None, int], 1, 1, 1),  # noqa: UP007
    (Annotated[int, "metadata of somebody else", {}], 5, 5, 5),
    (Any, {"a": None}, {"a": None}, {"a": None}),
    (object, [True, 1.5], [True, 1.5], [True, 1.5]),
    (Any, [Size.SMALL, Level.HIGH], ["s", 2], ["s", 2]),
]

REFUSED = [
    (int, [True, False, 5.0, "5", None, 10**4300, -(10**4300), Decimal(5), Number.ONE, [5]]),
    (float, [True, NAN, INFINITY, -INFINITY, "1.5", 10**400, 10**5000, Decimal("1.5"), Fraction(1, 2), None]),
    (bool, [0, 1, "true", "True", None, 0.0]),
    (str, [5, None, b"a", True, ["a"], Odd.TEXT, gettext_lazy("a"), "\ud83d\ude00", "a\ud800\udc00"]),
    (date, ["20261101", "2026-11-01T00:00", "2026-W44-7", "01.11.2026", "2026-1-1", " 2026-11-01", "2026-02-30", ""]),
    (date, [datetime(2026, 11, 1), datetime(2026, 11, 1, tzinfo=UTC), 20261101, None, mark_safe("2026-11-01")]),
    (datetime, ["2026-11-01T09:30:00", "2026-11-01T09:30:00Z", "2026-11-01 09:30:00+00:00", "2026-11-01T09:30+00:00"]),
    (datetime, [date(2026, 11, 1), "2026-11-01", 1793523600, 1793523600.0, None, "", "now"]),
    (time, ["09:30", "9:30:00", "093000", "09:30:00Z", "09:30:00.0", time(9, 30, tzinfo=UTC), "25:00:00", 930, None]),
    (timedelta, ["PT1H", "1:00:00", "1 00:00:00", 3600, 1.5, None, "", "P1D", "P99999999999DT00H00M00S"]),
    (timedelta, ["P" + "9" * 500 + "DT00H00M00S", "P0DT00H60M00S", "+P0DT00H00M01S", "-P0DT00H00M00S"]),
    (Decimal, [5, 1.5, "1e5", "1_000", " 1", "1 ", "٣", "", "abc", "NaN", "Infinity", "sNaN", None, True]),
    (Decimal, [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), "1E+99999999999999999999"]),
    (UUID, [AN_ID.hex, str(AN_ID).upper(), f"{{{AN_ID}}}", AN_ID.int, AN_ID.bytes, "", None]),
    (Literal["eu", "us"], ["EU", "", None, 1, Region.EU, mark_safe("eu"), ["eu"]]),
    (Literal[1], [True, 1.0, "1"]),
    (Literal[True], [1, "true"]),
    (Region, ["EU", "Region.EU", "", None, 0, Size.SMALL, mark_safe("eu"), ["eu"]]),
    (Level, [True, "1", "LOW", 3, 1.0, None, Number.ONE]),
    (Number, ["ONE", "1", True, 1.0, Level.LOW]),
    (Access, [-1, True, "READ", 1.0]),
    (Odd, ["a", 1, (1, 2), "text", ["NUMBER"], None]),
    (Colour, ["RED", "ROUGE"]),
    (list, [(1,), {1}, "ab", {"a": 1}, None, range(2), [{1}], iter([])]),
    (list[int], [["1"], [True], [None], [[1]], (1,), [1, 2, "3"]]),
    (dict, [[], [("a", 1)], {1: "a"}, {None: 1}, {True: 1}, {("a",): 1}, "{}", None, {"\ud800\udc00": 1}]),
    (dict[str, int], [{"a": "1"}, {"a": None}, {1: 1}]),
    (int | None, ["", "null", True, "5"]),
    (Any, [Plain(), Plain, len, 1j, NAN]),
]
EACH_REFUSED = [(annotation, value) for annotation, values in REFUSED for value in values]


def numbered(rows):
    """Test ids: the values themselves may not be printable."""
    return [f"{number}-{getattr(row[0], '__name__', row[0])}" for number, row in enumerate(rows)]


@pytest.mark.parametrize(("annotation", "value", "form", "result"), ACCEPTED, ids=numbered(ACCEPTED))
def test_a_value_of_the_type_and_its_json_form_are_stored_alike(annotation, value, form, result):
    assert same(stored(annotation, value), form)
    assert same(stored(annotation, form), form)
    assert same(given_back(annotation, form), result)


@pytest.mark.parametrize(("annotation", "value"), EACH_REFUSED, ids=numbered(EACH_REFUSED))
def test_everything_else_is_refused_at_submission_and_at_the_start(annotation, value):
    assert problem(annotation, value).partition(": ")[0].startswith(("expected ", "at "))
    with pytest.raises(TypeError, match=r"shop\.tasks\.one: x: "):
        one(annotation).to_call({"x": value})


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (int, "5", "expected a whole number, such as 5; got str '5'"),
        (int, True, "expected a whole number, such as 5; got bool True"),
        (
            date,
            "20261101",
            "expected a date without a time, or exactly its text, such as \"2026-11-01\"; got str '20261101'",
        ),
        (Literal["eu", 1], None, 'expected one of "eu", 1; got None'),
        (list[int], [1, [2]], "at [1]: expected a whole number, such as 5; got list [2]"),
        (dict[str, list[bool]], {"a": [0]}, "at ['a'][0]: expected True or False (in JSON true or false); got int 0"),
        (Region, "EU", 'expected a member of Region, or exactly its JSON form: one of "eu", "us"; got str \'EU\''),
        (int, Plain(), "expected a whole number, such as 5; got Plain"),
    ],
)
def test_the_message_says_what_was_expected_and_what_came(annotation, value, text):
    assert problem(annotation, value) == text


def test_a_number_that_python_cannot_print_is_refused_in_words():
    assert problem(int, 10**5000) == "expected a whole number, such as 5; got int: it has more than 4300 digits"


def test_a_long_value_is_shown_short():
    text = problem(int, {f"name {number}": "x" * 1000 for number in range(1000)})
    assert len(text) < 200
    assert len(problem(int, "x" * 10**6)) < 200
    assert len(problem(int, b"x" * 10**6)) < 200


def test_a_long_list_of_choices_is_shown_short():
    text = problem(Literal[tuple(range(1000))], "a")
    assert "0, 1, 2" in text
    assert "999" not in text


def test_what_is_given_is_copied():
    value = {"a": [1]}
    kept = stored(Any, value)
    value["a"].append(2)
    assert kept == {"a": [1]}
