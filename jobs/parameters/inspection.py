"""Reading a function's signature: its parameters, each with its annotation resolved and found in the table."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import get_type_hints

from jobs.errors import RegistrationError
from jobs.parameters.base import ParameterType, Unsupported
from jobs.parameters.table import RESULT_JSON, SUPPORTED, type_for

if sys.version_info >= (3, 14):
    # Annotations are evaluated late there: one that cannot be is to be told by its parameter's name, further below.
    from annotationlib import Format

    _read_signature = partial(inspect.signature, annotation_format=Format.FORWARDREF)
else:
    _read_signature = inspect.signature

_COLLECTS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a task function.

    `kind` and `default` are those of `inspect.Parameter` (`inspect.Parameter.empty` if there is no default), `type` is
    its entry of the table of types.
    """

    name: str
    kind: object
    type: ParameterType
    default: object
    is_required: bool


def inspect_function(func: Callable, task_name: str) -> tuple[dict[str, Parameter], ParameterType]:
    """The parameters by name, and the type of the result. Raises RegistrationError, naming the parameter."""
    try:
        signature = _read_signature(func)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"{task_name}: its signature cannot be read ({error}). Register a function.") from error
    scope = _scope(func)
    parameters = {
        name: Parameter(name, raw.kind, _type(raw, scope, task_name), raw.default, raw.default is raw.empty)
        for name, raw in signature.parameters.items()
    }
    return parameters, _result_type(signature.return_annotation, scope)


def _type(raw: inspect.Parameter, scope: dict, task_name: str) -> ParameterType:
    where = f"{task_name}: parameter {raw.name!r}"
    if raw.kind in _COLLECTS:
        raise RegistrationError(
            f"{where} ({_COLLECTS[raw.kind]}{raw.name}) takes whatever comes. "
            "Name every parameter; one that is a list or a dict can hold many values."
        )
    try:
        annotation = _resolve(raw.annotation, scope)
    except Exception as error:
        raise RegistrationError(
            f"{where} has an annotation that cannot be resolved: {raw.annotation!r} ({error}). "
            "Import the name at the top of the module, outside of `if TYPE_CHECKING`."
        ) from error
    try:
        return type_for(annotation)
    except Unsupported as error:
        shown = inspect.formatannotation(annotation)
        reason = f" ({error})" if error.args else ""
        raise RegistrationError(f"{where}: {shown} is not supported{reason}. Supported: {SUPPORTED}.") from None


def _result_type(annotation: object, scope: dict) -> ParameterType:
    """The type of the result, which may be any JSON where the annotation says nothing that is in the table."""
    try:
        return type_for(_resolve(annotation, scope), RESULT_JSON)
    except Exception:
        return RESULT_JSON


def _resolve(annotation: object, scope: dict) -> object:
    """Evaluate one annotation, or the names inside it, on its own, so that an error belongs to one parameter."""

    def holder(): ...

    holder.__annotations__ = {"it": annotation}
    return get_type_hints(holder, scope, include_extras=True)["it"]


def _scope(func: Callable) -> dict:
    """The names that an annotation may use: those of the module where the innermost function was written."""
    func = inspect.unwrap(func)
    if isinstance(func, partial):
        return _scope(func.func)
    if not hasattr(func, "__globals__"):
        func = inspect.unwrap(type(func).__call__)
    return getattr(func, "__globals__", {})
