"""The task function that comes with the app: management commands that the site's settings allow."""

import shlex
from typing import Annotated

from django import forms
from django.core.management import call_command

from jobs.conf import get_settings
from jobs.registry import register
from jobs.runtime.capture import RunLogStream


def _lines() -> list[tuple[str, str]]:
    """Asked anew for every form and at every start: what is not allowed any more does not run any more."""
    return [(line, line) for line in get_settings().COMMANDS]


def run_command(command: Annotated[str, forms.ChoiceField(choices=_lines)]) -> None:
    """Run one of the management commands that JOBS["COMMANDS"] allows.

    Its output goes to the log. A command that ends with an error fails the run.

    Args:
        command: A line of the setting, with exactly the arguments that stand there.
    """
    if not command:
        raise ValueError('Name a command line of JOBS["COMMANDS"].')
    name, *arguments = shlex.split(command)
    output = RunLogStream()
    call_command(name, *arguments, stdout=output, stderr=output)


if get_settings().COMMANDS:
    run_command = register(name="jobs.run_command", label="Management command")(run_command)
