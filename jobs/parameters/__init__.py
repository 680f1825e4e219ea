"""A task function's parameters: what they accept as values and as text, how they are stored, and given back.

`Signature.of(func, task_name=…)` reads a function once; `table.type_for` holds the table of types, one class per type.
`ParametersForm` is the form that a person fills in.
"""

from jobs.parameters.forms import ParametersForm
from jobs.parameters.masking import mask
from jobs.parameters.serialization import dumps, loads
from jobs.parameters.signature import Parameter, Signature

__all__ = ["Parameter", "ParametersForm", "Signature", "dumps", "loads", "mask"]
