"""Types with a fixed set of values."""

from enum import Enum

from django import forms

from jobs.parameters.base import ParameterType
from jobs.parameters.serialization import dumps

MAX_SHOWN = 12


def _texts(forms: list) -> list[str]:
    """What is typed for each JSON form: a text as it is where it can be and means no other one, else its JSON."""
    json_texts = [dumps(form) for form in forms]

    def is_plain(form) -> bool:
        return type(form) is str and form == form.strip() != "" and form.isprintable() and form not in json_texts

    return [form if is_plain(form) else json_text for form, json_text in zip(forms, json_texts, strict=True)]


def _listed(texts: list[str]) -> str:
    shown = ", ".join(texts[:MAX_SHOWN])
    return f"{shown}, …" if len(texts) > MAX_SHOWN else shown


class ChoiceType(ParameterType):
    """A type with a text for each of its members; `labels` are what a person reads in their place."""

    members: list
    texts: list[str]
    labels: list[str]

    @property
    def text_expected(self):
        return f"one of {_listed(self.texts)}"

    def form_field(self):
        choices = [("", "---------"), *zip(self.texts, self.labels, strict=True)]
        return forms.ChoiceField(choices=choices, required=False)

    def from_text(self, text):
        if text in self.texts:
            return self.members[self.texts.index(text)]
        raise self.text_refusal(text)

    def to_text(self, value):
        return next((text for text, each in zip(self.texts, self.members, strict=True) if each is value), "")


class LiteralType(ChoiceType):
    """The members of a Literal. Type and value must both be equal: True is not 1."""

    def __init__(self, members: tuple):
        self.members = list(members)
        self.expected = f"one of {_listed([dumps(member) for member in members])}"
        self.example = dumps(members[0])
        self.texts = self.labels = _texts(self.members)

    def from_value(self, value):
        for member in self.members:
            if type(value) is type(member) and value == member:
                return member
        raise self.refusal(value)


class EnumType(ChoiceType):
    """The members of an Enum. Their JSON form is the value if all values are text or all are int, else the name."""

    def __init__(self, enum: type[Enum]):
        self.enum = enum
        values = [member.value for member in enum]
        self._json_type = next((kind for kind in (str, int) if all(type(value) is kind for value in values)), None)
        # Not those of its iteration, in which a Flag leaves out the combined ones. Aliases are the same objects.
        self.members = list({id(member): member for member in enum.__members__.values()}.values())
        forms = [self.to_json(member) for member in self.members]
        shown = _listed([dumps(form) for form in forms])
        self.expected = f"a member of {enum.__name__}, or exactly its JSON form: one of {shown}"
        self.example = dumps(forms[0])
        self.texts = _texts(forms)

    @property
    def labels(self):
        """Read late: in the language of whoever looks at the form."""
        return [str(getattr(member, "label", member.name)) for member in self.members]

    def to_json(self, value):
        return value.value if self._json_type else value.name

    def from_value(self, value):
        if isinstance(value, self.enum):
            return value
        try:
            member = self.enum(value) if self._json_type else self.enum[value]
        except (ValueError, TypeError, KeyError):
            raise self.refusal(value) from None
        form = self.to_json(member)
        if type(form) is type(value) and form == value:
            return member
        raise self.refusal(value)
