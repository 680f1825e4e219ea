"""Real processes of the site. They work on the database of the tests, so that tests enqueue and look as anywhere."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from benchmarks.servers.system import is_alive, marked
from tests.runtime.support import wait_until

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60  # seconds; only a failing test waits that long
# For a worker beside which none lives: a busy machine may keep any process from its work for a second or two, and a
# worker that waits no longer than that would take it for dead.
SWIFT = {"JOBS_HEARTBEAT_SECONDS": "0.25", "JOBS_LOST_AFTER_SECONDS": "1"}
SCHEMES = {"sqlite": "sqlite", "postgresql": "postgres", "mysql": "mysql"}


def database_url() -> str:
    """The tests' own database, as the site reads it."""
    config = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{config['NAME']}"
    user, password = (quote(config[key], safe="") for key in ("USER", "PASSWORD"))
    port = f":{config['PORT']}" if config["PORT"] else ""
    return f"{SCHEMES[connection.vendor]}://{user}:{password}@{quote(config['HOST'], safe='')}{port}/{config['NAME']}"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_answer(port: int) -> None:
    """Wait until a server answers there: before, a signal meets it in the middle of its start."""

    def answers():
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("GET", "/no-such-page/")
            return connection.getresponse().status == 404
        except OSError:
            return False
        finally:
            connection.close()

    wait_until(answers, PATIENCE)


class Process:
    """A process of the site; what it prints, errors included, is in `output`."""

    def __init__(self, command: list[str], environment: dict[str, str], output: Path):
        self._path = output
        with output.open("wb") as file:
            self._popen = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._popen.pid

    @property
    def output(self) -> str:
        return self._path.read_text(errors="replace")

    @property
    def has_ended(self) -> bool:
        return self._popen.poll() is not None

    def wait(self, patience: float = PATIENCE) -> int:
        """Wait for its end; its exit code, negative for the signal that killed it."""
        try:
            return self._popen.wait(patience)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the process did not end:\n{self.output}") from None

    def send(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def ends_by(self, number: signal.Signals, within: float) -> int:
        """Send it a signal; its exit code, and an assertion if it does not end within so many seconds."""
        start = time.monotonic()
        self.send(number)
        code = self.wait()
        assert time.monotonic() - start < within, self.output
        return code

    def kill(self) -> None:
        """End it and the processes that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait(PATIENCE)


class Site:
    """Starts processes of the site, with quick heartbeats. Their tasks leave a line for each execution in `marks`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "ignore::ResourceWarning",
            "DJANGO_SETTINGS_MODULE": "tests.processes.settings_for_processes",
            "DATABASE_URL": database_url(),
            "SECRET_KEY": "only-for-tests",
            "VAR_DIR": str(folder / "var"),
            "HTTPS": "off",
            "RUNTIME_MARKS": str(folder / "marks"),
            "JOBS_HEARTBEAT_SECONDS": "0.5",
            "JOBS_LOST_AFTER_SECONDS": "5",
            "JOBS_POLL_SECONDS": "0.2",
            "JOBS_GRACE_SECONDS": "20",
        }
        self._processes: list[Process] = []

    def start(self, *command: str, **environment: str) -> Process:
        output = self.folder / f"output-{len(self._processes)}"
        process = Process([sys.executable, *command], self.environment | environment, output)
        self._processes.append(process)
        return process

    def manage(self, *arguments: str, **environment: str) -> Process:
        return self.start(str(ROOT / "manage.py"), *arguments, **environment)

    def runscheduler(self, *arguments: str, **environment: str) -> Process:
        """A `runscheduler` that has begun to work."""
        from jobs.models import Worker

        before = set(Worker.objects.values_list("pk", flat=True))
        process = self.manage("runscheduler", *arguments, **environment)

        def has_begun():
            assert not process.has_ended, process.output
            return Worker.objects.filter(pid=process.pid).exclude(pk__in=before).exists()

        wait_until(has_begun, PATIENCE)
        return process

    def end(self) -> None:
        """Kill what it has started, and wait until nobody is left: a process at work that misses its row, because the
        database was emptied, comes back as a new worker, which the next test would find."""
        for process in self._processes:
            process.kill()
        wait_until(lambda: not self._left(), PATIENCE)

    def _left(self) -> list[int]:
        """All processes of the site that live, whoever has started them; without /proc nobody can tell."""
        if not Path("/proc/self/environ").exists():
            return []
        return [pid for pid in marked(f"RUNTIME_MARKS={self.environment['RUNTIME_MARKS']}\0") if is_alive(pid)]

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """Of each process that it has started: who it is, and what it has printed."""
        return [(f"pid {process.pid}", process.output) for process in self._processes]

    @property
    def marks(self) -> list[tuple[int, int, int, str]]:
        """What the tasks have left: run, attempt, process, word; in the order of time."""
        path = self.folder / "marks"
        if not path.exists():
            return []
        lines = [line.split() for line in path.read_text().splitlines()]
        return [(int(run), int(attempt), int(pid), word) for run, attempt, pid, word in lines]

    def executions(self, word: str = "begun") -> Counter:
        """How often each run was executed."""
        return Counter(run for run, _, _, each in self.marks if each == word)

    def wait_until_begun(self, *runs) -> None:
        def have_begun():
            for run in runs:
                run.refresh_from_db()
                assert run.state != "failed", run.reason
            return {run.pk for run in runs} <= set(self.executions())

        wait_until(have_begun, PATIENCE)

    def open_gate(self, attempt: int | None = None) -> None:
        """Let the tasks `runtime_hold` end, or only their executions with this number."""
        name = "marks.gate" if attempt is None else f"marks.gate.{attempt}"
        (self.folder / name).touch()


def no_problem(process: Process) -> bool:
    """Whether it has said nothing that would alarm a person."""
    alarming = ("Traceback", "Error", "ERROR", "CRITICAL", "Exception")
    assert not any(word in process.output for word in alarming), process.output
    return True
