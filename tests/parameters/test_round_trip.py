"""Whatever value a type has: bind, JSON text and the start of the run give back an equal one of the same type."""

from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django import forms
from django.utils.timezone import get_default_timezone
from hypothesis import given
from hypothesis import strategies as st

from jobs.parameters import dumps, loads
from tests.names import named
from tests.parameters.support import (
    Access,
    Level,
    Odd,
    Region,
    Size,
    any_speed,
    floats,
    given_back,
    json_values,
    same,
    stored,
    texts,
    trip,
)

TYPES = {
    int: st.integers(),
    float: floats,
    bool: st.booleans(),
    str: texts,
    date: st.dates(),
    time: st.times().map(lambda value: value.replace(fold=0)),  # without a time zone, fold means nothing
    timedelta: st.timedeltas(),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    UUID: st.uuids(),
    Literal["a", 1, True, None, ""]: st.sampled_from(["a", 1, True, None, ""]),
    Region: st.sampled_from(Region),
    Size: st.sampled_from(Size),
    Level: st.sampled_from(Level),
    Access: st.integers(0, 3).map(Access),
    Odd: st.sampled_from(Odd),
    list: st.lists(json_values),
    dict: st.dictionaries(texts, json_values),
    list[Decimal]: st.lists(st.decimals(allow_nan=False, allow_infinity=False)),
    dict[str, list[date]]: st.dictionaries(texts, st.lists(st.dates())),
    date | None: st.none() | st.dates(),
    Annotated[int, forms.IntegerField(min_value=0)]: st.integers(0),
    Any: json_values,
}


@pytest.mark.parametrize("annotation", TYPES, ids=named)
@any_speed
@given(data=st.data())
def test_it_comes_back_as_it_was(annotation, data):
    value = data.draw(TYPES[annotation])
    assert same(trip(annotation, value), value)


@pytest.mark.parametrize("annotation", TYPES, ids=named)
@any_speed
@given(data=st.data())
def test_the_json_form_is_accepted_and_stored_as_it_is(annotation, data):
    form = stored(annotation, data.draw(TYPES[annotation]))
    assert same(loads(dumps(form)), form)
    assert same(stored(annotation, form), form)


@any_speed
@given(st.datetimes(timezones=st.none() | st.timezones()))
def test_a_datetime_comes_back_with_the_offset_that_it_had(value):
    aware = value if value.tzinfo else value.replace(tzinfo=get_default_timezone())
    result = trip(datetime, value)
    assert type(result) is datetime
    assert (result.replace(tzinfo=None), result.utcoffset()) == (value.replace(tzinfo=None, fold=0), aware.utcoffset())
    assert stored(datetime, stored(datetime, value)) == stored(datetime, value)


@pytest.mark.parametrize("annotation", TYPES, ids=named)
@any_speed
@given(value=json_values)
def test_what_is_accepted_is_stored_as_its_own_json_form(annotation, value):
    """No value is accepted that would be stored as something else: strict for any JSON that may come."""
    try:
        form = stored(annotation, value)
    except ValueError:
        return
    expected = float(value) if annotation is float else value
    assert same(form, expected)


@any_speed
@given(json_values)
def test_the_stored_text_is_ascii_in_one_line(value):
    text = dumps({"x": value})
    assert text.isascii()
    assert "\n" not in text
    assert same(loads(text), {"x": value})


@any_speed
@given(st.text())
def test_no_text_is_taken_for_a_type_that_it_is_not(text):
    """A text that is given as a value is the JSON form of one, or refused."""
    for annotation in (date, datetime, time, timedelta, Decimal, UUID):
        with suppress(ValueError):
            assert stored(annotation, text) == text
            assert given_back(annotation, text) is not None
