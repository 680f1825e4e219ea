"""Short ways to send one value through a signature."""

import inspect
import re
from enum import Enum, IntEnum, IntFlag, StrEnum

import pytest
from django.db.models import TextChoices
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from jobs.errors import ParameterError
from jobs.parameters import ParametersForm, Signature, dumps, loads
from jobs.parameters.base import NOTHING
from tests.parameters import browser

# Machines differ in speed: no example is judged by the time it takes.
any_speed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Region(StrEnum):
    EU = "eu"
    US = "us"


class Size(TextChoices):
    SMALL = "s", "Small"
    LARGE = "l", "Large"


class Mixed(str, Enum):  # noqa: UP042 (its str() is "Mixed.A")
    A = "a"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Number(Enum):
    ONE = 1
    TWO = 2


class Access(IntFlag):
    READ = 1
    WRITE = 2


class Odd(Enum):
    TEXT = "a"
    NUMBER = 1
    PAIR = (1, 2)


class Colour(Enum):
    RED = "red"
    ROUGE = "red"  # noqa: PIE796 (an alias)
    BLUE = "blue"


def one(annotation, name="x", default=inspect.Parameter.empty):
    """The signature of a function with one parameter of this annotation."""

    def func(**parameters): ...

    parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
    func.__signature__ = inspect.Signature([parameter])
    return Signature.of(func, task_name="shop.tasks.one")


def stored(annotation, value):
    """The JSON value that is stored for a value."""
    return one(annotation).bind((), {"x": value})["x"]


def given_back(annotation, json_value):
    """What the function gets for a stored JSON value, which was a text in between."""
    _args, kwargs = one(annotation).to_call(loads(dumps({"x": json_value})))
    return kwargs["x"]


def trip(annotation, value):
    return given_back(annotation, stored(annotation, value))


def problem(annotation, value, name="x"):
    """What the message says when this value is refused."""
    with pytest.raises(ParameterError) as caught:
        one(annotation, name).bind((), {name: value})
    assert list(caught.value.errors) == [name]
    return caught.value.errors[name]


def form_of(annotation, data=None, *, stored=NOTHING, default=inspect.Parameter.empty, name="x"):
    """The form for one parameter. `data` is what a browser sends, or the text of the parameter."""
    if isinstance(data, str):
        data = {f"parameter-{name}": data}
    there = {} if stored is NOTHING else {name: stored}
    return ParametersForm(one(annotation, name, default), data, stored=there)


def shown(form):
    """What a browser sends of a form that nobody has touched."""
    return browser.submitted(str(form))


def untouched(annotation, **options):
    """The JSON values to store where a person sends the form as it was shown."""
    form = form_of(annotation, shown(form_of(annotation, **options)), **options)
    assert form.is_valid(), form.errors
    return form.arguments


def typed(annotation, data, **options):
    """The JSON value to store for what was typed, or NOTHING."""
    form = form_of(annotation, data, **options)
    assert form.is_valid(), form.errors
    return form.arguments.get("x", NOTHING)


def form_problem(annotation, data, name="x", **options):
    """What the form says of what was typed."""
    form = form_of(annotation, data, name=name, **options)
    assert not form.is_valid()
    assert list(form.errors) == [name]
    str(form).encode()
    return form.errors[name][0]


def read(annotation, text, **options):
    """The JSON value to store for a text at a command line, or NOTHING."""
    return one(annotation, **options).from_text({options.get("name", "x"): text}).get("x", NOTHING)


def same(one_value, other):
    """Equal, of the same types all the way down, and written alike (-0.0 is not 0.0, 1.10 is not 1.1)."""
    return type(one_value) is type(other) and one_value == other and repr(one_value) == repr(other)


# Every text but the one kind that JSON cannot give back, see test_scalars.
texts = (st.text(st.characters()) | st.text(st.sampled_from('\x00\ud800\udc00\U0001f41dé\n"\\'))).filter(
    lambda text: not re.search("[\ud800-\udbff][\udc00-\udfff]", text)
)
floats = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | texts,
    lambda children: st.lists(children, max_size=5) | st.dictionaries(texts, children, max_size=5),
    max_leaves=20,
)
