"""Values that JSON cannot hold, or would give back as something else."""

import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import uuid4

from django.contrib.auth.models import User

from tests.parameters.support import Odd


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def endless():
    value = []
    value.append(value)
    return value


def endless_dict():
    value = {}
    value["again"] = [value]
    return value


UNSTORABLE = {
    "datetime": datetime(2026, 11, 1, tzinfo=UTC),
    "date": date(2026, 11, 1),
    "Decimal": Decimal("1.5"),
    "UUID": uuid4(),
    "set": {1, 2},
    "frozenset": frozenset([1]),
    "bytes": b"abc",
    "bytearray": bytearray(b"abc"),
    "tuple": (1, 2),
    "int key": {1: "a"},
    "None key": {None: "a"},
    "NaN": float("nan"),
    "infinity": float("inf"),
    "enum": Odd.TEXT,
    "model instance": User(pk=1),
    "lambda": lambda: None,
    "class": dict,
    "generator": (number for number in ()),
    "lock": threading.Lock(),
    "self-referencing list": endless(),
    "self-referencing dict": endless_dict(),
    "10,000 levels": nested(10_000),
    "a huge number": 10**5000,
    "half characters": "\ud83d\ude00",
}
