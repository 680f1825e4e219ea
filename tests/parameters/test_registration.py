"""Functions that cannot be registered, and annotations that are text."""

import collections.abc
import functools
import typing
from datetime import date
from enum import Enum
from typing import Annotated, Literal, Optional, Union

import pytest
from django import forms

from jobs.errors import ParameterError, RegistrationError
from jobs.parameters import Signature
from tests.names import named
from tests.parameters import late_annotations
from tests.parameters.support import one


class Point(typing.NamedTuple):
    x: int


class Options(typing.TypedDict):
    x: int


class Empty(Enum):
    pass


UNSUPPORTED = [
    bytes,
    set,
    set[int],
    frozenset,
    tuple,
    tuple[int, ...],
    complex,
    type(None),
    int | str,
    Union[int, str, None],  # noqa: UP007
    list[int | str],
    list[int, str],
    list[bytes],
    dict[str, set],
    dict[int, str],
    dict[str],
    Optional[bytes],  # noqa: UP045
    Literal[b"a"],
    Literal,
    Optional,
    Union,
    Annotated,
    collections.abc.Sequence,
    collections.abc.Mapping[str, int],
    collections.abc.Callable,
    type,
    typing.TypeVar("T"),
    typing.NewType("UserId", int),
    Point,
    Options,
    Enum,
    Empty,
    5,
    "5 +",
    "unknown",
    "date.unknown",
    Annotated[bytes, forms.CharField()],
    Annotated[str, forms.EmailField],
]


@pytest.mark.parametrize("annotation", UNSUPPORTED, ids=named)
def test_an_annotation_outside_of_the_table_is_refused_by_the_name_of_its_parameter(annotation):
    with pytest.raises(RegistrationError, match=r"shop\.tasks\.one: parameter 'x'"):
        one(annotation)


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (set[int], "set[int] is not supported. Supported: int, float, bool, str, date, "),
        (int | str, "int | str is not supported (of unions only X | None is). Supported: "),
        (dict[int, str], "(the keys of a dict are always text in JSON: dict[str, T])"),
        (list[int, str], "(the items of a list are all of one type: list[T])"),
        (Literal[b"a"], "(the members of a Literal must be str, int, bool or None)"),
        (Annotated[str, forms.EmailField], "(write EmailField() instead of EmailField: an instance is needed)"),
        ("unknown", "cannot be resolved: 'unknown' (name 'unknown' is not defined). Import the name at the top"),
    ],
)
def test_the_message_says_what_is_supported_and_what_to_do(annotation, words):
    with pytest.raises(RegistrationError) as caught:
        one(annotation)
    assert words in str(caught.value)


def test_any_number_of_values_is_refused():
    def positional(a, *rest): ...
    def keywords(a, **options): ...

    with pytest.raises(RegistrationError, match=r"parameter 'rest' \(\*rest\) takes whatever comes"):
        Signature.of(positional, task_name="shop.tasks.positional")
    with pytest.raises(RegistrationError, match=r"parameter 'options' \(\*\*options\) takes whatever comes"):
        Signature.of(keywords, task_name="shop.tasks.keywords")


@pytest.mark.parametrize("what", [5, dict, print], ids=["number", "class", "builtin"])
def test_what_is_no_function_with_a_signature_is_refused(what):
    with pytest.raises(RegistrationError, match=r"shop\.tasks\.what: "):
        Signature.of(what, task_name="shop.tasks.what")


@functools.wraps(late_annotations.good)
def wrapped_elsewhere(*args, **kwargs): ...


GOOD = [
    late_annotations.good,
    late_annotations.wrapped,
    wrapped_elsewhere,
    functools.partial(late_annotations.good),
    functools.partial(wrapped_elsewhere),
    late_annotations.Good(),
    late_annotations.Good().good,
]


@pytest.mark.parametrize("func", GOOD)
def test_annotations_that_are_text_are_resolved_where_the_function_was_written(func):
    signature = Signature.of(func, task_name="shop.tasks.good")
    stored = signature.bind((), {"day": date(2026, 11, 1), "days": [date(2026, 11, 2)], "other": None})
    assert stored == {"day": "2026-11-01", "days": ["2026-11-02"], "other": None}
    with pytest.raises(ParameterError) as caught:
        signature.bind((), {"day": 1, "region": "asia", "mail": "nobody", "days": [1], "other": 1})
    assert list(caught.value.errors) == ["day", "region", "mail", "days", "other"]
    assert signature.result_to_json(date(2026, 11, 1)) == "2026-11-01"


def test_a_name_imported_for_type_checkers_only_is_told_by_its_parameter():
    with pytest.raises(RegistrationError, match=r"parameter 'price'.*'Decimal'.*TYPE_CHECKING"):
        Signature.of(late_annotations.only_for_type_checkers, task_name="shop.tasks.func")


def test_a_result_whose_annotation_cannot_be_resolved_is_any_json():
    signature = Signature.of(late_annotations.result_only_for_type_checkers, task_name="shop.tasks.func")
    assert signature.result_to_json({"a": (1,)}) == {"a": [1]}
