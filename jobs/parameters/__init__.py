"""The values door: what a task function's parameters accept, how they are stored, and how they are given back.

`Signature.of(func, task_name=…)` reads a function once; `table.type_for` holds the table of types, one class per type.
"""

from jobs.parameters.masking import mask
from jobs.parameters.serialization import dumps, loads
from jobs.parameters.signature import Parameter, Signature

__all__ = ["Parameter", "Signature", "dumps", "loads", "mask"]
