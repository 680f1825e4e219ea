"""Functions whose annotations are text: the names in them are found in this module, and only here."""

from __future__ import annotations

import functools
from datetime import date as day_type
from typing import TYPE_CHECKING, Annotated, Literal, Optional

from django import forms

if TYPE_CHECKING:
    from decimal import Decimal


def good(
    day: day_type,
    region: Literal["eu", "us"] = "eu",
    mail: Annotated[str, forms.EmailField()] = "",
    days: list[day_type] | None = None,
    other: Optional["day_type"] = None,  # noqa: UP037, UP045
) -> day_type: ...


@functools.wraps(good)
def wrapped(*args, **kwargs): ...


class Good:
    def __call__(
        self,
        day: day_type,
        region: Literal["eu", "us"] = "eu",
        mail: Annotated[str, forms.EmailField()] = "",
        days: list[day_type] | None = None,
        other: day_type | None = None,
    ) -> day_type: ...

    good = __call__


def only_for_type_checkers(day: day_type, price: Decimal): ...


def result_only_for_type_checkers(day: day_type) -> Decimal: ...
