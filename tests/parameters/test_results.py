"""What a function returns: stored by its return annotation, else as any JSON."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from jobs.errors import ParameterError
from jobs.parameters import Signature
from tests.parameters.support import Region, same
from tests.parameters.unstorable import UNSTORABLE

NOTHING = object()


def returning(annotation):
    def func(): ...

    if annotation is not NOTHING:
        func.__annotations__ = {"return": annotation}
    return Signature.of(func, task_name="shop.tasks.func")


@pytest.mark.parametrize(
    ("annotation", "value", "form", "result"),
    [
        (NOTHING, None, None, None),
        (NOTHING, {"a": (1, (2,))}, {"a": [1, [2]]}, {"a": [1, [2]]}),
        (None, None, None, None),
        (None, 5, 5, 5),
        (Any, ("a",), ["a"], ["a"]),
        (tuple[int, str], (1, "a"), [1, "a"], [1, "a"]),
        (dict, {"a": (1,)}, {"a": [1]}, {"a": [1]}),
        (list[Any], [(1,)], [[1]], [[1]]),
        (int, 5, 5, 5),
        (date, date(2026, 11, 1), "2026-11-01", date(2026, 11, 1)),
        (list[Decimal], [Decimal("1.0")], ["1.0"], [Decimal("1.0")]),
        (Region | None, Region.EU, "eu", Region.EU),
        (Region | None, None, None, None),
        ("unknown", "a", "a", "a"),
        (int | str, "a", "a", "a"),
    ],
)
def test_it_is_stored_and_given_back_as_the_annotated_type(annotation, value, form, result):
    signature = returning(annotation)
    assert same(signature.result_to_json(value), form)
    assert same(signature.result_from_json(form), result)


@pytest.mark.parametrize("kind", [kind for kind in UNSTORABLE if kind != "tuple"])
def test_what_json_cannot_hold_is_refused(kind):
    with pytest.raises(ParameterError, match=r"^shop\.tasks\.func: return: (at .*: )?expected "):
        returning(NOTHING).result_to_json(UNSTORABLE[kind])


def test_what_the_annotation_does_not_promise_is_refused():
    with pytest.raises(ParameterError) as caught:
        returning(int).result_to_json("5")
    assert caught.value.errors == {"return": "expected a whole number, such as 5; got str '5'"}


def test_what_no_longer_fits_the_annotation_is_given_back_as_json():
    assert returning(date).result_from_json({"day": 1}) == {"day": 1}
    assert returning(Region).result_from_json("asia") == "asia"


def test_secrets_in_a_result_are_not_shown():
    with pytest.raises(ParameterError) as caught:
        returning(NOTHING).result_to_json({"api_key": {"a": b"S3CR3T"}})
    assert "S3CR3T" not in str(caught.value)
