"""What every row of the table of types can do, and how it says no."""

from django import forms
from django.core.exceptions import ValidationError

from jobs.parameters.describe import describe, shorten
from jobs.parameters.masking import SUBSTITUTE, is_secret

MAX_STEPS = 5


class _Nothing:
    """Stands where there is no value, not even None."""

    def __repr__(self):
        return "NOTHING"

    def __bool__(self):
        return False


NOTHING = _Nothing()


class Unsupported(Exception):
    """An annotation is outside of the table of types; the message, which may be empty, says why."""


class Refused(Exception):
    """A value does not fit its type.

    `expected` never speaks of the value; `detail`, which may, is left out where the value is secret.
    """

    def __init__(self, expected: str, value: object, detail: str = ""):
        super().__init__(expected)
        self.expected = expected
        self.value = value
        self.detail = detail
        self.is_hidden = False
        self.is_text = False
        self.path = []

    def within(self, step: int | str) -> "Refused":
        """The same problem, seen from the list or dict that holds the value at this index or key."""
        if isinstance(step, str) and is_secret(step):
            self.is_hidden, self.path = True, []
        self.path.insert(0, step)
        return self

    def text(self, *, is_secret_name: bool = False) -> str:
        """The problem in words: where, what was expected, what came, and what helps."""
        if is_secret_name:
            return f"expected {self.expected}; got {self._hidden()}"
        return f"{self._place()}expected {self.expected}; got {self._came()}"

    def _came(self) -> str:
        if self.is_hidden or (self.is_text and not self.value):
            return self._hidden()
        shown = shorten(self.value) if self.is_text else describe(self.value)
        return f"{shown}: {self.detail}" if self.detail and SUBSTITUTE not in shown else shown

    def _hidden(self) -> str:
        if self.is_text and not self.value:
            return "nothing"
        what = "a text" if self.is_text else type(self.value).__name__
        return f"{what} (not shown: its name says that it is secret)"

    def _place(self) -> str:
        if not self.path:
            return ""
        steps = "".join(f"[{shorten(step)}]" for step in self.path[:MAX_STEPS])
        return f"at {steps}{'…' if len(self.path) > MAX_STEPS else ''}: "


def refused_text(expected: str, text: object, detail: str = "") -> Refused:
    """A text that somebody typed does not stand for a value."""
    refused = Refused(expected, text, detail)
    refused.is_text = True
    return refused


class ParameterType:
    """One row of the table: how the values of one annotated type are checked, stored, given back, typed and shown.

    `expected` says in words what the values door accepts and `text_expected` what the text door accepts, `example` is
    the JSON text of one value, `hint` tells a person who fills in a form what they cannot see there. `empty` is the
    value that an empty text stands for, or NOTHING. `fits_a_line` tells whether the text of a value is one line, so
    that a list of them can be typed line by line.
    """

    expected: str
    text_expected: str
    example: str
    hint = ""
    empty: object = NOTHING
    unticked: object = NOTHING  # what it stands for where there is no default that could apply instead
    fits_a_line = True
    requires_text = True  # whether an empty text is refused where the parameter has no default
    takes_many = False  # whether the form field's widget sends a list of texts
    is_json = False  # whether the text may be JSON, which may hold secrets

    def from_value(self, value: object) -> object:
        """The value as the annotated type, from such a value or from exactly its JSON form; Refused for any other."""
        raise NotImplementedError

    def to_json(self, value: object) -> object:
        """The JSON form of what `from_value` returned."""
        return value

    def form_field(self) -> forms.Field:
        """A form field, not required, with the widget in which a person chooses or types a value. Its `clean` makes of
        a text what `from_value` accepts, whatever the locale."""
        raise NotImplementedError

    def from_text(self, text: object) -> object:
        """The value that a text stands for, which is not empty; Refused if there is none. A list where `takes_many`."""
        try:
            return self.from_value(self.form_field().clean(text))
        except (ValidationError, Refused):
            raise self.text_refusal(text) from None

    def to_text(self, value: object) -> str:
        """The text that `from_text` reads as this value."""
        return str(value)

    def to_initial(self, value: object) -> object:
        """What the form field's widget shows for this value: its text, where the widget holds a text."""
        return self.to_text(value)

    def refusal(self, value: object, detail: str = "") -> Refused:
        return Refused(self.expected, value, detail)

    def text_refusal(self, text: object, detail: str = "") -> Refused:
        is_hidden = self.is_json and isinstance(text, str) and is_secret(text)
        return refused_text(self.text_expected, SUBSTITUTE if is_hidden else text, detail)


class TextFormType(ParameterType):
    """A type whose JSON form is a string. What is read from one is accepted if writing it gives the same string."""

    def accepts(self, value: object) -> bool:
        raise NotImplementedError

    def parse(self, text: str) -> object:
        """The value that a text means; ValueError or ArithmeticError if it means none."""
        raise NotImplementedError

    def to_json(self, value: object) -> str:
        return str(value)

    def to_text(self, value):
        return self.to_json(value)

    def from_value(self, value: object) -> object:
        if type(value) is str:
            return self._read(value)
        if self.accepts(value):
            return value
        raise self.refusal(value)

    def _read(self, text: str) -> object:
        try:
            value = self.parse(text)
        except (ValueError, ArithmeticError):
            raise self.refusal(text) from None
        if self.accepts(value) and self.to_json(value) == text:
            return value
        raise self.refusal(text)
