"""The table of types: which annotations are supported, and the class that stands for each."""

import types
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from inspect import Parameter
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from django.db.models import Model
from django.forms import Field

from jobs.parameters.base import ParameterType, Unsupported
from jobs.parameters.choices import EnumType, LiteralType
from jobs.parameters.containers import DictType, ListType, OptionalType
from jobs.parameters.fields import CheckedType
from jobs.parameters.json_values import JsonType
from jobs.parameters.models import ModelType
from jobs.parameters.scalars import BoolType, DecimalType, FloatType, IntType, StrType, UUIDType
from jobs.parameters.temporal import DatetimeType, DateType, TimedeltaType, TimeType

SUPPORTED = (
    "int, float, bool, str, date, datetime, time, timedelta, Decimal, UUID, Literal[…], Enum classes, list, list[T], "
    "dict, dict[str, T], X | None, model classes, Annotated[T, forms.EmailField()] with any form field, "
    "and no annotation (or Any) for any JSON"
)

ANY_JSON = JsonType()
# A result is written by code that does not know about JSON: its tuples become lists.
RESULT_JSON = JsonType(accepts_tuples=True)

_CLASSES = {
    int: IntType(),
    float: FloatType(),
    bool: BoolType(),
    str: StrType(),
    date: DateType(),
    datetime: DatetimeType(),
    time: TimeType(),
    timedelta: TimedeltaType(),
    Decimal: DecimalType(),
    UUID: UUIDType(),
}

_NO_TYPE = (Parameter.empty, Any, object)


def type_for(annotation: object, any_json: JsonType = ANY_JSON) -> ParameterType:
    """The table's entry for a resolved annotation; `any_json` stands for what has none. Raises Unsupported."""
    if any(annotation is nothing for nothing in _NO_TYPE):
        return any_json
    origin, args = get_origin(annotation) or annotation, get_args(annotation)
    if origin in (list, dict) or (args and origin in (Literal, Union, types.UnionType, Annotated)):
        return _BUILDERS[origin](args, any_json)
    if isinstance(annotation, type):
        return _class_type(annotation)
    raise Unsupported


def _class_type(annotation: type) -> ParameterType:
    if annotation in _CLASSES:
        return _CLASSES[annotation]
    if issubclass(annotation, Enum) and len(annotation):
        return EnumType(annotation)
    if issubclass(annotation, Model):
        return ModelType(annotation)
    raise Unsupported


def _list(args, any_json):
    if len(args) > 1:
        raise Unsupported("the items of a list are all of one type: list[T]")
    return ListType(type_for(args[0], any_json) if args else any_json)


def _dict(args, any_json):
    if args and (len(args) != 2 or args[0] is not str):
        raise Unsupported("the keys of a dict are always text in JSON: dict[str, T]")
    return DictType(type_for(args[1], any_json) if args else any_json)


def _literal(members, any_json):
    if any(type(member) not in (str, int, bool, type(None)) for member in members):
        raise Unsupported("the members of a Literal must be str, int, bool or None")
    return LiteralType(members)


def _optional(args, any_json):
    others = [arg for arg in args if arg is not type(None)]
    if len(others) != 1:
        raise Unsupported("of unions only X | None is")
    return OptionalType(type_for(others[0], any_json))


def _annotated(args, any_json):
    checked = type_for(args[0], any_json)
    for extra in args[1:]:
        if isinstance(extra, type) and issubclass(extra, Field):
            raise Unsupported(f"write {extra.__name__}() instead of {extra.__name__}: an instance is needed")
        if isinstance(extra, Field):
            checked = CheckedType(checked, extra)
    return checked


_BUILDERS = {
    list: _list,
    dict: _dict,
    Literal: _literal,
    Union: _optional,
    types.UnionType: _optional,
    Annotated: _annotated,
}
