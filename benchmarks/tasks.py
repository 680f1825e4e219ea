"""The task functions that the benchmarks run. Each first writes down when it started.

One line a start, `number nanoseconds`, appended by a single write to a file that all processes share. The time is the
monotonic clock: one clock for all processes of a machine, which nobody sets back.
"""

import os
import time
from functools import cache

from django.conf import settings

import jobs

STARTS = settings.BENCHMARKS_DIRECTORY / "starts"


@cache
def _starts() -> int:
    return os.open(STARTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


@jobs.register
def note(number: int) -> None:
    """Only write down the start."""
    os.write(_starts(), b"%d %d\n" % (number, time.monotonic_ns()))


@jobs.register
def work(number: int, milliseconds: int, busy: bool = False) -> None:
    """Write down the start and take a while: asleep, as if it waited for an answer, or busy with computing."""
    os.write(_starts(), b"%d %d\n" % (number, time.monotonic_ns()))
    if not busy:
        time.sleep(milliseconds / 1000)
        return
    end = time.monotonic() + milliseconds / 1000
    while time.monotonic() < end:
        sum(range(100))
