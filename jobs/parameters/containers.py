"""Types that hold values of other types."""

import json
from collections.abc import Callable, Iterable

from django import forms

from jobs.core.texts import visible
from jobs.parameters.base import ParameterType, Refused
from jobs.parameters.scalars import StrType, Tickbox, yes_or_no
from jobs.parameters.serialization import loads

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


class JsonTextType(ParameterType):
    """A type whose values are typed as JSON."""

    text_hint = ""
    fits_a_line = False
    is_json = True

    def form_field(self):
        return forms.CharField(required=False, widget=forms.Textarea({"rows": 4}))

    def from_text(self, text):
        try:
            value = loads(text)
        except ValueError:
            raise self.text_refusal(text, self.text_hint) from None
        return self.from_value(value)

    def to_text(self, value):
        return json_text(self.to_json(value))


def json_text(value: object) -> str:
    """A JSON value as a person reads it; in ASCII where it holds what no page can show."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text if text == visible(text) else json.dumps(value, indent=2)


class ListType(JsonTextType):
    """A list whose items are all of one type. A person types one item a line where its text is one line, or JSON."""

    empty: list = []

    def __init__(self, item: ParameterType):
        self.item = item
        self.example = f"[{item.example}]"
        self.expected = f"a list, such as {self.example}"
        self.text_expected = f"a list as JSON, such as {self.example}"
        self.hint = f"JSON, such as {self.example}."

        if item.fits_a_line:
            self.text_expected = f"a list, one item a line or as JSON, such as {self.example}"
            self.hint = f"One a line: {item.text_expected}."

    def from_value(self, value):
        if isinstance(value, list):
            return convert_list(value, self.item.from_value)
        raise self.refusal(value)

    def to_json(self, value):
        return [self.item.to_json(item) for item in value]

    def from_text(self, text):
        if not self.item.fits_a_line or text.lstrip().startswith("["):
            return super().from_text(text)
        return convert_list((line.strip() for line in text.splitlines() if line.strip()), self.item.from_text)

    def to_text(self, value):
        if self.item.fits_a_line:
            lines = [self.item.to_text(item) for item in value]
            if lines and all(_is_line(line) for line in lines) and not lines[0].startswith("["):
                return "\n".join(lines)
        return super().to_text(value)


def _is_line(text: str) -> bool:
    return text.splitlines() == [text] and text == text.strip() and text == visible(text)


class DictType(JsonTextType):
    """A dict with text keys whose values are all of one type."""

    def __init__(self, item: ParameterType):
        self.item = item
        self.example = f'{{"name": {item.example}}}'
        self.expected = f"a dict, such as {self.example}"
        self.text_expected = f"a JSON object, such as {self.example}"
        self.hint = f"JSON, such as {self.example}."

    def from_value(self, value):
        if isinstance(value, dict):
            return convert_dict(value, self.item.from_value)
        raise self.refusal(value)

    def to_json(self, value):
        return {key: self.item.to_json(item) for key, item in value.items()}


class OptionalType(ParameterType):
    """`X | None`. An empty text is None."""

    empty = None
    requires_text = False

    def __init__(self, inner: ParameterType):
        self.inner = inner
        self.example = inner.example
        self.expected = f"{inner.expected}, or None"
        self.text_expected = f"{inner.text_expected}, or nothing"
        self.fits_a_line = False

    @property
    def hint(self):
        return self.inner.hint

    @property
    def takes_many(self):
        return self.inner.takes_many

    @property
    def is_json(self):
        return self.inner.is_json

    def from_value(self, value):
        return None if value is None else self.inner.from_value(value)

    def to_json(self, value):
        return None if value is None else self.inner.to_json(value)

    def form_field(self):
        field = self.inner.form_field()
        return yes_or_no() if isinstance(field.widget, Tickbox) else field  # no box could tell False from None

    def from_text(self, text):
        return self.inner.from_text(text)

    def to_text(self, value):
        return "" if value is None else self.inner.to_text(value)

    def to_initial(self, value):
        if value is None:
            return ""
        return self.to_text(value) if value in (True, False) else self.inner.to_initial(value)
