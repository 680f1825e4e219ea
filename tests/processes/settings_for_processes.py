"""Settings of the processes that the tests start: the site's own, read from the environment, with the tests' tasks."""

import atexit
import os
import time
from pathlib import Path

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests"]


def open_the_gate_and_linger():
    """A slow end of the interpreter, in which a function that was left behind would go on."""
    Path(os.environ["RUNTIME_MARKS"] + ".gate").touch()
    time.sleep(2)


if "RUNTIME_LINGER" in os.environ:
    atexit.register(open_the_gate_and_linger)
