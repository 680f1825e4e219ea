"""Numbers, text and identifiers."""

import re
from decimal import Decimal
from math import isfinite
from uuid import UUID

from jobs.parameters.base import ParameterType, Refused, TextFormType

# Python itself reads and writes no longer ones (sys.int_info.default_max_str_digits).
MAX_DIGITS = 4300
_TOO_LARGE = 10**MAX_DIGITS

# Two halves of a character beside each other come back from JSON as the one character that they make up.
_find_split_character = re.compile("[\ud800-\udbff][\udc00-\udfff]").search


class IntType(ParameterType):
    """Any int, also a member of an IntEnum, which is stored as its number; True and False are none."""

    expected = "a whole number, such as 5"
    example = "5"

    def from_value(self, value):
        if not isinstance(value, int) or value is True or value is False:
            raise self.refusal(value)
        if not -_TOO_LARGE < value < _TOO_LARGE:
            raise self.refusal(value, f"it has more than {MAX_DIGITS} digits")
        return int(value)


class FloatType(ParameterType):
    """Any finite float. An int becomes one."""

    expected = "a finite number, such as 1.5"
    example = "1.5"

    def from_value(self, value):
        if isinstance(value, float | int) and value is not True and value is not False:
            try:
                number = float(value)
            except OverflowError:
                raise self.refusal(value, "it is too large for a float") from None
            if isfinite(number):
                return number
        raise self.refusal(value)


class BoolType(ParameterType):
    expected = "True or False (in JSON true or false)"
    example = "true"

    def from_value(self, value):
        if value is True or value is False:
            return value
        raise self.refusal(value)


class StrType(ParameterType):
    """Any text, kept to the last character: NUL, emoji, lone surrogates. A subclass of str is stored as plain str."""

    expected = 'text, such as "abc"'
    example = '"abc"'
    is_text = True

    def from_value(self, value):
        if not isinstance(value, str):
            raise self.refusal(value)
        if not value.isascii() and _find_split_character(value):
            raise Refused("text without a character split into two surrogates", value, "give the character itself")
        return str.__str__(value)  # str(value) would be the name of a member of a (str, Enum)


class DecimalType(TextFormType):
    expected = 'a finite Decimal, or exactly its text, such as "19.90"'
    example = '"19.90"'
    parse = staticmethod(Decimal)

    def accepts(self, value):
        return isinstance(value, Decimal) and value.is_finite()


class UUIDType(TextFormType):
    expected = 'a UUID, or exactly its text, such as "123e4567-e89b-12d3-a456-426614174000"'
    example = '"123e4567-e89b-12d3-a456-426614174000"'
    parse = staticmethod(UUID)

    def accepts(self, value):
        return isinstance(value, UUID)
