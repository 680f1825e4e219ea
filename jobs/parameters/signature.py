"""The parameters of one task function: what is given to it, what is stored, and what it is called with."""

import difflib
import inspect
from collections.abc import Callable

from jobs.errors import ParameterError
from jobs.parameters.base import NOTHING, ParameterType, Refused
from jobs.parameters.describe import MAX_LENGTH, shorten
from jobs.parameters.inspection import Parameter, inspect_function
from jobs.parameters.masking import is_secret

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Signature:
    """A task function's parameters by name, with their types. Read once, at registration; safe to share by threads.

    Every method reports all problems at once, in one ParameterError.
    """

    def __init__(self, task_name: str, parameters: dict[str, Parameter], result: ParameterType):
        self.task_name = task_name
        self.parameters = parameters
        self._result = result
        self._names_by_position = [name for name, each in parameters.items() if each.kind in _BY_POSITION]
        self._positional_only = [each for each in parameters.values() if each.kind is each.kind.POSITIONAL_ONLY]

    @classmethod
    def of(cls, func: Callable, task_name: str) -> "Signature":
        """The signature of a function. Raises RegistrationError, naming the parameter, for what is not supported."""
        return cls(task_name, *inspect_function(func, task_name))

    def bind(self, args: tuple, kwargs: dict) -> dict[str, object]:
        """The JSON values to store for a call, by name, in the function's order. Only what is given is stored.

        A value is one of the annotated type, or exactly its JSON form. Every parameter may be given by name, also a
        positional-only one. A model's primary key is looked up. Raises ParameterError.
        """
        problems = {}
        given = self._by_name(args, kwargs, problems) if args else kwargs
        return self._convert(given, _stored, problems)

    def to_call(self, arguments: dict[str, object]) -> tuple[tuple, dict[str, object]]:
        """The positional and the keyword arguments of the call that these stored JSON values stand for.

        Everything is checked again: the function may have changed since, a model's row be gone. Raises ParameterError.
        """
        values = self._convert(arguments, _value, {})
        if not self._positional_only:
            return (), values
        return self._split(values)

    def from_text(self, texts: dict[str, str]) -> dict[str, object]:
        """What `bind` would store for these texts, as typed at a command line. Raises ParameterError.

        Each is read as in a form (see `read_text`): the type decides, never the looks of the text nor the locale.
        """
        read = self._convert(texts, read_text, {})
        return {name: value for name, value in read.items() if value is not NOTHING}

    def result_to_json(self, value: object) -> object:
        """The JSON value to store for what the function returned: by its return annotation, else any JSON.

        Where no type is told, tuples become lists. Raises ParameterError if the value cannot be stored.
        """
        try:
            return self._result.to_json(self._result.from_value(value))
        except Refused as refused:
            problem = refused.text()
        raise ParameterError(self.task_name, {"return": problem})

    def result_from_json(self, value: object) -> object:
        """The result as its annotated type. What does not fit that type (any more) is given back as JSON."""
        try:
            return self._result.from_value(value)
        except Refused:
            return value

    def _convert(self, given: dict, convert: Callable, problems: dict[str, str]) -> dict[str, object]:
        """`convert(type, value)` of all that is given; ParameterError with these problems and those found here."""
        converted = {}
        for name, parameter in self.parameters.items():
            if name in given:
                try:
                    converted[name] = convert(parameter, given[name])
                except Refused as refused:
                    problems[name] = refused.text(is_secret_name=is_secret(name))
            elif parameter.is_required:
                problems[name] = f"is missing; expected {parameter.type.expected}"
        if len(converted) != len(given):
            problems |= {_key(name): self._unknown(name) for name in given if name not in self.parameters}
        if problems:
            raise ParameterError(self.task_name, problems)
        return converted

    def _by_name(self, args: tuple, kwargs: dict, problems: dict[str, str]) -> dict[str, object]:
        names = self._names_by_position
        if len(args) > len(names):
            problems[""] = f"takes at most {len(names)} values by position, got {len(args)}; give the others by name"
        given = dict(zip(names, args, strict=False))
        problems |= {name: "is given twice, by position and by name; give it once" for name in given if name in kwargs}
        return given | kwargs

    def _split(self, values: dict) -> tuple[tuple, dict]:
        """Take the positional-only parameters out of `values`; a default fills a gap before the last one given."""
        given = [place for place, each in enumerate(self._positional_only, 1) if each.name in values]
        first = self._positional_only[: max(given, default=0)]
        return tuple(values.pop(each.name, each.default) for each in first), values

    def _unknown(self, name: object) -> str:
        near = difflib.get_close_matches(_key(name), self.parameters, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(self.parameters) or 'none at all'}"
        return f"is no parameter of this function; {hint}"


def _key(name: object) -> str:
    """A name that nobody checked, fit to be shown and stored."""
    return name if isinstance(name, str) and name.isidentifier() and len(name) <= MAX_LENGTH else shorten(name)


def read_text(parameter: Parameter, text: object) -> object:
    """The JSON value that somebody's text stands for; NOTHING where it is empty and the function's default applies.

    An empty text is no value for a parameter without a default, unless its type is `X | None`. For one with a default
    it is the empty text or list or None where the type has such a value. Raises Refused.
    """
    kind = parameter.type
    if text:
        value = _typed(kind, text)
        if not _is_blank(text, value):
            return kind.to_json(value)
    if parameter.is_required and kind.requires_text:
        raise kind.text_refusal(text)
    empty = kind.unticked if parameter.is_required and kind.empty is NOTHING else kind.empty
    return NOTHING if empty is NOTHING else _stored(parameter, empty)


def _typed(kind: ParameterType, text: object) -> object:
    is_kind_of_text = isinstance(text, str) or (isinstance(text, list) and kind.takes_many)
    if not is_kind_of_text:
        raise kind.text_refusal(text)
    return kind.from_text(text)


def _is_blank(text: object, value: object) -> bool:
    """Whether nothing but blanks was typed, and nothing was made of it."""
    return isinstance(text, str) and not text.strip() and value in ("", [], None)


def _stored(parameter: Parameter, value: object) -> object:
    return parameter.type.to_json(parameter.type.from_value(value))


def _value(parameter: Parameter, value: object) -> object:
    return parameter.type.from_value(value)
