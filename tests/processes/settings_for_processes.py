"""Settings of the processes that the tests start: the site's own, read from the environment, with the tests' tasks."""

import atexit
import os
import time
from pathlib import Path

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS, LOGGING
from jobs.runtime import child
from tests.processes import switches

INSTALLED_APPS = [*INSTALLED_APPS, "tests", "tests.processes"]


def open_the_gate_and_linger():
    """A slow end of the interpreter, in which a function that was left behind would go on."""
    Path(os.environ["RUNTIME_MARKS"] + ".gate").touch()
    time.sleep(2)


if "RUNTIME_BROKEN_CHILDREN" in os.environ and child.is_child:
    raise RuntimeError("this site cannot be loaded in a child")

if "RUNTIME_QUIET" in os.environ:  # a console costs memory of its own
    LOGGING["handlers"]["nowhere"] = {"class": "logging.NullHandler"}  # without any, Python itself tells warnings
    LOGGING["root"]["handlers"] = ["nowhere"]

if "RUNTIME_LINGER" in os.environ:
    atexit.register(open_the_gate_and_linger)

if "RUNTIME_SWITCHES" in os.environ:
    switches.install(Path(os.environ["RUNTIME_SWITCHES"]))
