"""Where no scheduler belongs none starts, and no table is asked for that may not be there yet."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from jobs.models import Run, Worker
from tests.processes.support import PATIENCE, no_problem
from tests.runtime.support import wait_until

COMMANDS = [
    ["check"],
    ["makemigrations", "--check"],
    ["migrate"],
    ["collectstatic", "--noinput"],
    ["shell", "-c", "pass"],
    ["showmigrations"],
    ["test", "tests.processes.settings_for_processes"],
]


@pytest.fixture
def empty(site):
    """The site with a database file that does not exist yet."""
    site.environment["DATABASE_URL"] = f"sqlite:///{site.folder / 'empty.sqlite3'}"
    return site


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_commands_on_an_empty_database(empty, command):
    manage = shutil.copy(Path(__file__).with_name("watched_manage.py"), empty.folder / "manage.py")
    process = empty.start(str(manage), *command)
    assert process.wait() == 0, process.output
    assert no_problem(process)
    report = json.loads((empty.folder / "report.json").read_text())
    assert report["threads"] == ["MainThread"]
    asked = [sql for sql in report["statements"] if "jobs_" in sql and sql.startswith(("SELECT", "UPDATE"))]
    assert asked == []
    if command != ["migrate"]:
        assert not any("jobs_" in sql for sql in report["statements"])


def test_set_up_off_the_main_thread(empty):
    """As some test runners and notebooks do: no signal is touched, nothing starts, the process ends by itself."""
    code = (
        "import threading, django\n"
        "thread = threading.Thread(target=django.setup)\n"
        "thread.start(); thread.join()\n"
        "from jobs.runtime import scheduler\n"
        "print(scheduler.current(), [each.name for each in threading.enumerate()])"
    )
    process = empty.start("-c", code)
    assert process.wait() == 0
    assert process.output.split("\n")[0] == "None ['MainThread']"


def test_a_server_that_starts_before_migrate_waits_for_the_tables(empty):
    process = empty.manage("runscheduler")
    wait_until(lambda: "tables of jobs are not there yet" in process.output, PATIENCE)
    assert empty.manage("migrate").wait() == 0
    waiting = empty.manage("enqueue", "tests.tasks.runtime_mark", "--wait", "--timeout", str(PATIENCE))
    assert waiting.wait() == 0, waiting.output
    assert "has succeeded" in waiting.output
    assert process.ends_by(signal.SIGTERM, within=10) == 0
    assert no_problem(process)
    assert not Run.objects.exists()  # the tests' own database was not touched
    assert not Worker.objects.exists()


def test_a_stop_while_it_waits_for_the_tables(empty):
    process = empty.manage("runscheduler")
    wait_until(lambda: "tables of jobs are not there yet" in process.output, PATIENCE)
    assert process.ends_by(signal.SIGTERM, within=10) == 0
