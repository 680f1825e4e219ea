"""Warnings reach stderr on a site that configures no logging, also when runs' logs are captured."""

import subprocess
import sys

import pytest

# In a process of its own: pytest has handlers on the root logger, for which Python stays silent.
PROCESS = """
import logging
from jobs.runtime import capture
capture.ensure()
{also}
logging.getLogger("jobs").warning("told")
logging.getLogger("jobs").info("not told")
"""

HANDLED = "logging.getLogger({name!r}).addHandler(logging.StreamHandler())"


def told(also: str = "") -> str:
    process = subprocess.run(
        [sys.executable, "-c", PROCESS.format(also=also)], capture_output=True, text=True, check=True
    )
    return process.stderr


def test_a_warning_that_nobody_else_handles_is_told():
    assert told() == "told\n"


@pytest.mark.parametrize("name", ["jobs", None])
def test_one_that_somebody_handles_is_not_told_twice(name):
    assert told(HANDLED.format(name=name)) == "told\n"
