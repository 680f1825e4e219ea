"""Which values belong to which parameter, and which functions have a signature at all."""

import functools
import inspect

import pytest

from jobs.errors import ParameterError
from jobs.parameters import Signature


def signature_of(func):
    return Signature.of(func, task_name="shop.tasks.func")


def errors_of(call, *args):
    with pytest.raises(ParameterError) as caught:
        call(*args)
    assert caught.value.task_name == "shop.tasks.func"
    return caught.value.errors


def plain(day: str, region: str = "eu", *, dry_run: bool = False): ...


def test_only_what_was_given_is_stored_in_the_order_of_the_function():
    signature = signature_of(plain)
    assert signature.bind(("monday",), {}) == {"day": "monday"}
    stored = signature.bind((), {"dry_run": True, "region": "us", "day": "monday"})
    assert list(stored.items()) == [("day", "monday"), ("region", "us"), ("dry_run", True)]
    assert signature.bind(("monday", "us"), {"dry_run": True}) == stored


def test_a_call_is_made_of_what_is_stored():
    assert signature_of(plain).to_call({"dry_run": True, "day": "monday"}) == ((), {"day": "monday", "dry_run": True})


def test_a_function_without_parameters():
    signature = signature_of(lambda: None)
    assert signature.bind((), {}) == {}
    assert signature.to_call({}) == ((), {})
    assert errors_of(signature.bind, (1,), {}) == {
        "": "takes at most 0 values by position, got 1; give the others by name"
    }
    assert errors_of(signature.bind, (), {"a": 1}) == {"a": "is no parameter of this function; there are: none at all"}


def test_all_problems_are_told_at_once():
    def func(a: int, b: int, c: int, d: int = 1): ...

    errors = errors_of(signature_of(func).bind, (1, "x"), {"a": 2, "e": 5, "d": "y"})
    assert errors == {
        "a": "is given twice, by position and by name; give it once",
        "b": "expected a whole number, such as 5; got str 'x'",
        "c": "is missing; expected a whole number, such as 5",
        "d": "expected a whole number, such as 5; got str 'y'",
        "e": "is no parameter of this function; there are: a, b, c, d",
    }


def test_the_message_names_the_function_and_every_parameter():
    with pytest.raises(ParameterError) as caught:
        signature_of(plain).bind((1, 2, True), {"dry_rum": True})
    text = str(caught.value)
    assert text.startswith("shop.tasks.func: takes at most 2 values by position, got 3; ")
    assert "day: expected text" in text
    assert "region: expected text" in text
    assert "dry_rum: is no parameter of this function; did you mean 'dry_run'?" in text


def test_too_many_values_by_position():
    assert list(errors_of(signature_of(plain).bind, ("a", "b", True), {})) == [""]


@pytest.mark.parametrize("name", ["", "with space", "x" * 5000, "a\x00b", "\ud800", "line\nbreak"])
def test_a_name_that_is_no_name_is_shown_in_a_form_that_can_be_stored(name):
    (shown,) = errors_of(signature_of(plain).bind, ("monday",), {name: 1})
    assert 0 < len(shown) <= 80
    assert shown.isprintable()


def test_the_start_of_a_run_checks_again_what_the_function_may_have_changed():
    def renamed(date: str, *, region: int = 1): ...

    errors = errors_of(signature_of(renamed).to_call, {"day": "monday", "region": "eu"})
    assert list(errors) == ["date", "region", "day"]


def test_the_values_given_are_left_as_they_are():
    signature = signature_of(plain)
    kwargs, arguments = {"region": "us"}, {"day": "a"}
    signature.bind(("a",), kwargs)
    signature.to_call(arguments)
    assert (kwargs, arguments) == ({"region": "us"}, {"day": "a"})


class TestPositionalOnly:
    @staticmethod
    def func(a: int, b: int = 20, c: int = 30, /, d: int = 40, *, e: int = 50):
        return a, b, c, d, e

    @pytest.mark.parametrize(
        ("given", "args"),
        [({}, (1,)), ({"b": 2}, (1, 2)), ({"c": 3}, (1, 20, 3)), ({"c": 3, "d": 4, "e": 5}, (1, 20, 3))],
    )
    def test_they_are_passed_by_position_with_defaults_in_the_gaps(self, given, args):
        signature = signature_of(self.func)
        positional, keywords = signature.to_call(signature.bind((1,), given))
        assert positional == args
        assert self.func(*positional, **keywords) == tuple(
            ({"a": 1, "b": 20, "c": 30, "d": 40, "e": 50} | given).values()
        )

    def test_they_may_be_given_by_name(self):
        assert signature_of(self.func).bind((), {"a": 1}) == {"a": 1}


def test_what_is_known_of_a_parameter():
    parameters = signature_of(plain).parameters
    assert list(parameters) == ["day", "region", "dry_run"]
    assert (parameters["day"].is_required, parameters["day"].default) == (True, inspect.Parameter.empty)
    assert (parameters["region"].is_required, parameters["region"].default) == (False, "eu")
    assert parameters["dry_run"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["day"].type.expected == 'text, such as "abc"'


class TestCallables:
    expected = {"a": 5}

    def check(self, func):
        signature = signature_of(func)
        assert signature.bind((5,), {}) == {"a": 5}
        assert list(errors_of(signature.bind, ("x",), {})) == ["a"]

    def test_decorated_function(self):
        def func(a: int): ...

        @functools.wraps(func)
        def wrapper(*args, **kwargs): ...

        self.check(wrapper)
        self.check(functools.lru_cache(func))

    def test_bound_method(self):
        self.check(self.method)

    def method(self, a: "int"): ...

    def test_callable_instance(self):
        class Callable:
            def __call__(self, a: "int"): ...

        self.check(Callable())

    def test_partial(self):
        def func(first: int, a: "int", last: int): ...

        self.check(functools.partial(func, 1, last=3))

    def test_a_value_bound_by_a_partial_is_a_default(self):
        def func(a: int, day: str): ...

        signature = signature_of(functools.partial(func, day="monday"))
        assert signature.bind((5,), {}) == {"a": 5}
        assert signature.bind((5,), {"day": "friday"}) == {"a": 5, "day": "friday"}

    def test_partial_of_a_decorated_function(self):
        def func(first: int, a: "int"): ...

        @functools.wraps(func)
        def wrapper(*args, **kwargs): ...

        self.check(functools.partial(wrapper, 1))
