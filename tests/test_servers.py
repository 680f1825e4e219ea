"""The private database servers that tests and measurements start."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.servers import KINDS, NotInstalled, PostgreSQL

# Dies of each signal, whatever the process that began it ignores.
SLEEPER = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("begun", flush=True)
time.sleep(1000)
"""
ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60  # seconds; only a failing test waits that long


@pytest.fixture(params=KINDS)
def kind(request):
    if not KINDS[request.param].is_installed():
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.fixture
def server(kind):
    with KINDS[kind](durable=False) as server:
        yield server


def wait_until(is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def names_a_server(folder: Path) -> bool:
    """Whether a process is at work whose command line names the folder."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(folder) in path.read_bytes().decode(errors="replace"):
                return True
    return False


def begin(kind: str, folder: Path, *command: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.servers", kind, "--", *command],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def temporary():
    """A folder for temporary folders that the servers' own users can enter, unlike that of pytest."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.rmdir()  # fails if something was left behind


def execute(server, sql: str) -> str:
    return subprocess.run(server.client(sql), capture_output=True, text=True, check=True).stdout


def test_data_and_port_outlive_an_orderly_end_and_a_crash(server):
    port = server.port
    server.create("first")
    server.stop()
    assert not server.answers()
    server.start()
    server.create("second")
    server.kill()
    assert not server.answers()
    server.start()
    assert server.port == port
    for database in ("first", "second"):
        with pytest.raises(RuntimeError, match="exists"):
            server.create(database)


def test_a_frozen_server_answers_nobody_until_it_thaws(server):
    server.pause()
    asking = subprocess.Popen(server.client("SELECT 1"), stdout=subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        asking.wait(1)
    server.resume()
    assert asking.wait(PATIENCE) == 0
    asking.stdout.close()


def test_a_frozen_server_can_be_ended(kind):
    with KINDS[kind](durable=False) as server:
        server.pause()
    assert not server.folder.exists()
    assert not names_a_server(server.folder)


def test_a_server_in_a_folder_that_was_given_keeps_its_data(kind, temporary):
    folder = temporary / "kept"
    with KINDS[kind](folder, durable=False) as server:
        server.create("mine")
    with KINDS[kind](folder, durable=False) as server, pytest.raises(RuntimeError, match="exists"):
        server.create("mine")
    shutil.rmtree(folder)


def test_the_program_gives_a_command_its_server_and_exits_with_its_code(kind, temporary):
    program = begin(kind, temporary, sys.executable, "-c", "import os; print(os.environ['DATABASE_URL']); exit(7)")
    output, _ = program.communicate(timeout=PATIENCE)
    assert program.returncode == 7
    assert output.strip().endswith("/jobs")
    assert output.startswith(KINDS[kind].scheme + "://")
    assert not names_a_server(temporary)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_server_and_no_folder_outlives_the_program(kind, temporary, number):
    program = begin(kind, temporary, sys.executable, "-c", SLEEPER)
    assert program.stdout.readline() == "begun\n"
    if number == signal.SIGTERM:
        program.send_signal(number)  # to it alone, as `timeout` and service managers do
    else:
        os.killpg(program.pid, number)  # as a terminal does
    assert program.wait(PATIENCE) in (-number, 128 + number)
    program.stdout.close()
    wait_until(lambda: not names_a_server(temporary) and not list(temporary.iterdir()))


def test_a_signal_during_the_start_leaves_nothing_either(kind, temporary):
    program = begin(kind, temporary, sys.executable, "-c", SLEEPER)
    wait_until(lambda: list(temporary.iterdir()))
    program.send_signal(signal.SIGTERM)
    assert program.wait(PATIENCE) in (-signal.SIGTERM, 128 + signal.SIGTERM)
    program.stdout.close()
    wait_until(lambda: not names_a_server(temporary) and not list(temporary.iterdir()))


def test_a_missing_server_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(PostgreSQL, "programs", (("no-such-program",),))
    assert not PostgreSQL.is_installed()
    with pytest.raises(NotInstalled, match="Install the package postgresql"):
        PostgreSQL()
