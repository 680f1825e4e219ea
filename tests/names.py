"""Names of test cases that are the same in every process, so that several can share the work."""

import re


def named(value: object) -> str:
    """The text of a value without the places in memory that some objects tell of themselves."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
