"""What every row of the table of types can do, and how it says no."""

from jobs.parameters.describe import describe, shorten
from jobs.parameters.masking import is_secret
from jobs.parameters.serialization import loads

MAX_STEPS = 5


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
        came = self._hidden() if self.is_hidden else describe(self.value) + (self.detail and f": {self.detail}")
        return f"{self._place()}expected {self.expected}; got {came}"

    def _hidden(self) -> str:
        return f"{type(self.value).__name__} (not shown: its name says that it is secret)"

    def _place(self) -> str:
        if not self.path:
            return ""
        steps = "".join(f"[{shorten(step)}]" for step in self.path[:MAX_STEPS])
        return f"at {steps}{'…' if len(self.path) > MAX_STEPS else ''}: "


class ParameterType:
    """One row of the table: how the values of one annotated type are checked, stored and given back.

    `expected` says in words what is accepted, `example` is the JSON text of one value, `is_text` tells whether the JSON
    form is a string, `text_hint` helps whoever typed no JSON where it was needed.
    """

    expected: str
    example: str
    is_text = False
    text_hint = ""

    def from_value(self, value: object) -> object:
        """The value as the annotated type, from such a value or from exactly its JSON form; Refused for any other."""
        raise NotImplementedError

    def to_json(self, value: object) -> object:
        """The JSON form of what `from_value` returned."""
        return value

    def from_text(self, text: str) -> object:
        """What `from_value` is to check when this text was typed: the text itself, or the JSON value that it spells."""
        if self.is_text:
            return text
        try:
            return loads(text)
        except ValueError:
            raise Refused(f"the JSON text of {self.expected}", text, self.text_hint) from None

    def refusal(self, value: object, detail: str = "") -> Refused:
        return Refused(self.expected, value, detail)


class TextFormType(ParameterType):
    """A type whose JSON form is a string. What is read from one is accepted if writing it gives the same string."""

    is_text = True

    def accepts(self, value: object) -> bool:
        raise NotImplementedError

    def parse(self, text: str) -> object:
        """The value that a text means; ValueError or ArithmeticError if it means none."""
        raise NotImplementedError

    def to_json(self, value: object) -> str:
        return str(value)

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
