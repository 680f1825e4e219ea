"""Numbers, text and identifiers."""

import re
from decimal import Decimal
from math import isfinite
from uuid import UUID

from django import forms

from jobs.parameters.base import ParameterType, Refused, TextFormType

# Python itself reads and writes no longer ones (sys.int_info.default_max_str_digits).
MAX_DIGITS = 4300
_TOO_LARGE = 10**MAX_DIGITS

# Two halves of a character beside each other come back from JSON as the one character that they make up.
_find_split_character = re.compile("[\ud800-\udbff][\udc00-\udfff]").search


class IntType(ParameterType):
    """Any int, also a member of an IntEnum, which is stored as its number; True and False are none."""

    expected = text_expected = "a whole number, such as 5"
    example = "5"

    def from_value(self, value):
        if not isinstance(value, int) or value is True or value is False:
            raise self.refusal(value)
        if not -_TOO_LARGE < value < _TOO_LARGE:
            raise self.refusal(value, f"it has more than {MAX_DIGITS} digits")
        return int(value)

    def form_field(self):
        return forms.IntegerField(required=False)


class FloatType(ParameterType):
    """Any finite float. An int becomes one."""

    expected = text_expected = "a finite number, such as 1.5"
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

    def form_field(self):
        return forms.FloatField(required=False, widget=forms.NumberInput({"step": "any"}))

    def to_text(self, value):
        return repr(value)


class BoolType(ParameterType):
    expected = "True or False (in JSON true or false)"
    text_expected = "true or false"
    example = "true"
    requires_text = False  # a box that is not ticked sends nothing
    unticked = False

    TRUE, FALSE = ("true", "on", "yes", "1"), ("false", "off", "no", "0")

    def from_value(self, value):
        if value is True or value is False:
            return value
        raise self.refusal(value)

    def form_field(self):
        return forms.CharField(required=False, widget=Tickbox())

    def from_text(self, text):
        word = text.strip().lower()
        if word in self.TRUE or word in self.FALSE:
            return word in self.TRUE
        raise self.text_refusal(text)

    def to_text(self, value):
        return "true" if value else "false"

    def to_initial(self, value):
        return "on" if value else "off"


def yes_or_no() -> forms.Field:
    """For a bool where neither may be meant."""
    return forms.ChoiceField(choices=[("", "---------"), ("true", "Yes"), ("false", "No")], required=False)


class Tickbox(forms.CheckboxInput):
    """A checkbox that tells "on" or "off", and any other text that was sent as it is: it takes no word for a yes."""

    def __init__(self):
        super().__init__(check_test=lambda value: value == "on")

    def format_value(self, value):
        return None

    def value_from_datadict(self, data, files, name):
        return data.get(name, "off")


class StrType(ParameterType):
    """Any text, kept to the last character: NUL, emoji, lone surrogates. A subclass of str is stored as plain str."""

    expected = 'text, such as "abc"'
    text_expected = "text"
    example = '"abc"'
    empty = ""

    def from_value(self, value):
        if not isinstance(value, str):
            raise self.refusal(value)
        if not value.isascii() and _find_split_character(value):
            raise Refused("text without a character split into two surrogates", value, "give the character itself")
        return str.__str__(value)  # str(value) would be the name of a member of a (str, Enum)

    def form_field(self):
        return forms.CharField(required=False, strip=False)

    def from_text(self, text):
        try:
            return self.from_value(text)
        except Refused as refused:
            raise self.text_refusal(text, refused.detail) from None


class DecimalType(TextFormType):
    expected = 'a finite Decimal, or exactly its text, such as "19.90"'
    text_expected = "a number, such as 19.90"
    example = '"19.90"'
    parse = staticmethod(Decimal)

    def accepts(self, value):
        return isinstance(value, Decimal) and value.is_finite()

    def form_field(self):
        return forms.DecimalField(required=False, widget=forms.NumberInput({"step": "any"}))


class UUIDType(TextFormType):
    expected = 'a UUID, or exactly its text, such as "123e4567-e89b-12d3-a456-426614174000"'
    text_expected = "a UUID, such as 123e4567-e89b-12d3-a456-426614174000"
    example = '"123e4567-e89b-12d3-a456-426614174000"'
    parse = staticmethod(UUID)

    def accepts(self, value):
        return isinstance(value, UUID)

    def form_field(self):
        return forms.UUIDField(required=False)
