"""Types with a fixed set of values."""

from enum import Enum

from jobs.parameters.base import ParameterType
from jobs.parameters.serialization import dumps

MAX_SHOWN = 12


def _listed(members: list) -> str:
    shown = ", ".join(dumps(member) for member in members[:MAX_SHOWN])
    return f"{shown}, …" if len(members) > MAX_SHOWN else shown


class LiteralType(ParameterType):
    """The members of a Literal. Type and value must both be equal: True is not 1."""

    def __init__(self, members: tuple):
        self.members = members
        self.expected = f"one of {_listed(members)}"
        self.example = dumps(members[0])
        self.is_text = all(type(member) is str for member in members)

    def from_value(self, value):
        for member in self.members:
            if type(value) is type(member) and value == member:
                return member
        raise self.refusal(value)


class EnumType(ParameterType):
    """The members of an Enum. Their JSON form is the value if all values are text or all are int, else the name."""

    def __init__(self, enum: type[Enum]):
        self.enum = enum
        values = [member.value for member in enum]
        self._json_type = next((kind for kind in (str, int) if all(type(value) is kind for value in values)), None)
        self.is_text = self._json_type is not int
        forms = [self.to_json(member) for member in enum]
        self.expected = f"a member of {enum.__name__}, or exactly its JSON form: one of {_listed(forms)}"
        self.example = dumps(forms[0])

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
