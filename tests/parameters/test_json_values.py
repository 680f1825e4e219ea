"""A parameter without an annotation: any JSON, and nothing that would come back as something else."""

from datetime import date

import pytest

from jobs.errors import ParameterError
from jobs.parameters import Signature, dumps, loads
from tests.parameters.support import problem, trip
from tests.parameters.unstorable import UNSTORABLE, endless, nested


def anything(first=None, second=None, third=None, *, payload=None): ...


signature = Signature.of(anything, task_name="shop.tasks.anything")


@pytest.mark.parametrize("kind", UNSTORABLE)
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [value], lambda value: {"key": [value]}])
def test_what_json_cannot_hold_is_refused_by_the_name_of_the_argument(kind, wrap):
    with pytest.raises(ParameterError) as caught:
        signature.bind((1,), {"payload": wrap(UNSTORABLE[kind])})
    assert list(caught.value.errors) == ["payload"]
    assert str(caught.value).startswith("shop.tasks.anything: payload: ")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        ((1,), "got tuple (1,): give a list"),
        ({1}, "got set {1}: give a sorted list"),
        (b"a", "got bytes b'a': decode it to text"),
        (date(2026, 11, 1), "got date datetime.date(2026, 11, 1): annotate with its class, or give text"),
        ({1: "a"}, "got int 1: write the keys as text"),
        (endless(), "got list [[[[[...]]]]]: does it hold itself?"),
        (lambda: None, "got function"),
    ],
)
def test_the_message_says_what_helps(value, advice):
    assert problem(object, value).endswith(advice)


def test_100_levels_are_stored_and_101_are_not():
    assert trip(object, nested(100)) == nested(100)
    assert "at most 100 levels deep" in problem(object, nested(101))


def test_100_levels_fit_on_a_stack_that_is_already_deep():
    def deeper(frames):
        return deeper(frames - 1) if frames else trip(object, nested(100))

    assert deeper(400) == nested(100)


def test_a_value_used_twice_is_no_circle():
    shared = [1]
    assert trip(object, {"a": shared, "b": [shared, shared]}) == {"a": [1], "b": [[1], [1]]}


def test_types_survive_the_trip():
    values = (2**63, 0.1, "")
    stored = loads(dumps(signature.bind(values, {"payload": [None, True, "é", 2**63, -(2**64), {"1": "a"}]})))
    _args, kwargs = signature.to_call(stored)
    assert tuple(kwargs.values())[:3] == values
    assert [type(value) for value in kwargs["payload"]] == [type(None), bool, str, int, int, dict]
    assert kwargs["payload"] == [None, True, "é", 2**63, -(2**64), {"1": "a"}]


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", '{"a": -Infinity}', "", "{", "{'a': 1}", "[" * 100_000, "1" * 5000]
)
def test_text_that_is_no_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        loads(text)


def test_nan_is_never_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps({"x": float("nan")})
