import io

import pytest
from django.core.management import CommandError, call_command


class Ended:
    """How a command ended: its exit code, what it printed, and what a CommandError said."""

    def __init__(self, name, arguments, options):
        self.code, self.error, out = 0, "", io.StringIO()
        try:
            call_command(name, *arguments, stdout=out, **options)
        except CommandError as error:
            self.code, self.error = error.returncode, str(error)
        except SystemExit as ended:
            self.code = ended.code
        self.output = out.getvalue()


@pytest.fixture
def command():
    """Call a command as the command line does: every argument is a text."""
    return lambda name, *arguments, **options: Ended(name, arguments, options)
