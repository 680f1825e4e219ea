"""Any JSON: what a parameter without an annotation takes."""

from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from uuid import UUID

from django.db.models import Model

from jobs.parameters.base import Refused
from jobs.parameters.containers import JsonTextType, convert_dict, convert_list
from jobs.parameters.scalars import FloatType, IntType, StrType

MAX_DEPTH = 100

_SCALARS = ((str, StrType()), (int, IntType()), (float, FloatType()))

_ADVICE = (
    (tuple, "give a list"),
    ((set, frozenset), "give a sorted list"),
    ((bytes, bytearray, memoryview), "decode it to text"),
    ((date, time, timedelta, Decimal, UUID, Enum, Model), "annotate with its class, or give text"),
)


class JsonType(JsonTextType):
    """None, bool, int, float, text, and lists and dicts of these: nothing that JSON would give back as something else.

    With `accepts_tuples` a tuple becomes a list.
    """

    expected = "JSON (None, bool, int, float, text, or lists and dicts of these)"
    text_expected = "JSON"
    example = "null"
    hint = 'JSON: a number, true, false, null, "text", a list or an object.'
    text_hint = 'text needs double quotes, as in "text"'

    def __init__(self, *, accepts_tuples: bool = False):
        self._lists = (list, tuple) if accepts_tuples else list

    def from_value(self, value):
        return self._copy(value, 1)

    def _copy(self, value, level):
        if value is None or value is True or value is False:
            return value
        for kind, scalar in _SCALARS:
            if isinstance(value, kind):
                return scalar.from_value(value)
        if isinstance(value, dict):
            return convert_dict(value, self._next(value, level))
        if isinstance(value, self._lists):
            return convert_list(value, self._next(value, level))
        raise self.refusal(value, next((advice for kind, advice in _ADVICE if isinstance(value, kind)), ""))

    def _next(self, value, level):
        if level > MAX_DEPTH:
            raise Refused(f"lists and dicts at most {MAX_DEPTH} levels deep", value, "does it hold itself?")
        return partial(self._copy, level=level + 1)
