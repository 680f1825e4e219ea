"""Types that hold values of other types."""

from collections.abc import Callable, Iterable

from jobs.parameters.base import ParameterType, Refused
from jobs.parameters.scalars import StrType

_as_text = StrType().from_value


def convert_list(values: Iterable, convert: Callable) -> list:
    """`convert(item)` of every item; a refusal tells the index."""
    converted = []
    try:
        for item in values:
            converted.append(convert(item))
    except Refused as refused:
        raise refused.within(len(converted)) from None
    return converted


def convert_dict(values: dict, convert: Callable) -> dict:
    """`convert(item)` of every item under its key, which must be text; a refusal tells the key."""
    converted = {}
    for key, item in values.items():
        if not isinstance(key, str):
            raise Refused("text as every key of a dict", key, "write the keys as text")
        try:
            converted[_as_text(key)] = convert(item)
        except Refused as refused:
            raise refused.within(key) from None
    return converted


class ListType(ParameterType):
    """A list whose items are all of one type."""

    def __init__(self, item: ParameterType):
        self.item = item
        self.example = f"[{item.example}]"
        self.expected = f"a list, such as {self.example}"

    def from_value(self, value):
        if isinstance(value, list):
            return convert_list(value, self.item.from_value)
        raise self.refusal(value)

    def to_json(self, value):
        return [self.item.to_json(item) for item in value]


class DictType(ParameterType):
    """A dict with text keys whose values are all of one type."""

    def __init__(self, item: ParameterType):
        self.item = item
        self.example = f'{{"name": {item.example}}}'
        self.expected = f"a dict, such as {self.example}"

    def from_value(self, value):
        if isinstance(value, dict):
            return convert_dict(value, self.item.from_value)
        raise self.refusal(value)

    def to_json(self, value):
        return {key: self.item.to_json(item) for key, item in value.items()}


class OptionalType(ParameterType):
    """`X | None`. On a command line the text `null` is None, also where X is text."""

    def __init__(self, inner: ParameterType):
        self.inner = inner
        self.example = inner.example
        self.is_text = inner.is_text
        self.expected = f"{inner.expected}, or None"

    def from_value(self, value):
        return None if value is None else self.inner.from_value(value)

    def to_json(self, value):
        return None if value is None else self.inner.to_json(value)

    def from_text(self, text):
        return None if text == "null" else self.inner.from_text(text)
