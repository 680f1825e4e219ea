"""What all kinds of servers have in common: they are started, stopped, killed, frozen, and leave nothing behind."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from benchmarks.servers.system import children, free_port, is_alive, send

PATIENCE = 60.0  # seconds; for a start with recovery, or an orderly end

# Ends the server and removes the folder when the pipe on its standard input closes: however this process ends.
GUARD = """
cat > /dev/null
if [ -f "$1/pid" ]; then
    server=$(cat "$1/pid")
    kill -STOP $server  # so that it starts no further process; those of PostgreSQL are in sessions of their own
    kill -9 $(grep -ls "^PPid:[[:space:]]*$server$" /proc/[0-9]*/status | cut -d/ -f3) $server
fi
tries=0
while [ -n "$2" ] && ! rm -rf "$1" && [ $tries -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
"""


class NotInstalled(RuntimeError):
    """A program of the database server is not on this machine."""


class Server:
    """One server with its data. The port and the data stay the same over restarts.

    `folder` holds the data; without one it is a temporary folder that goes at the end. `port` is a free one if it is
    not given. `durable` False means that the last commits need not survive a crash of the machine, nor a `kill()`:
    quicker, for tests.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    scheme: ClassVar[str]
    system_user: ClassVar[str]
    administrator: ClassVar[str]
    programs: ClassVar[tuple[tuple[str, ...], ...]]  # needed ones, each under the names it may have
    orderly = signal.SIGTERM

    def __init__(self, folder: Path | None = None, port: int | None = None, *, durable: bool = True):
        for names in self.programs:
            self.program(*names)
        self._is_temporary = folder is None
        name = f"jobs-{self.scheme}-{secrets.token_hex(6)}"
        self.folder = Path(folder or Path(tempfile.gettempdir(), name)).resolve()
        self.port = port or free_port()
        self.durable = durable
        self._popen: subprocess.Popen | None = None
        self._guard: subprocess.Popen | None = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    # Programs

    @classmethod
    def is_installed(cls) -> bool:
        try:
            return all(cls.program(*names) for names in cls.programs)
        except NotInstalled:
            return False

    @classmethod
    def program(cls, *names: str) -> str:
        """Where a program is that may have one of several names."""
        path = os.pathsep.join([*cls.directories(), os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
        for name in names:
            if found := shutil.which(name, path=path):
                return found
        raise NotInstalled(f"{cls.name} is not installed: there is no {names[0]}. Install the package {cls.package}.")

    @classmethod
    def directories(cls) -> list[str]:
        """Where its programs are, other than on the PATH."""
        return []

    # Life

    def start(self) -> None:
        """Start it, for the first time or again, and wait until it answers. Nothing happens if it is at work."""
        if self._popen is not None and self._popen.poll() is None:
            return
        if self._guard is None:
            self._prepare()
        with (self.folder / "log").open("ab") as log:
            self._popen = subprocess.Popen(
                self.command(),
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._user(),
            )
        (self.folder / "pid").write_text(str(self._popen.pid))
        end = time.monotonic() + PATIENCE
        while not self.answers():
            if self._popen.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.name} does not start:\n{self._last_lines()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it in order, without waiting for its clients; after a minute by force."""
        if self._popen is None:
            return
        self.resume()
        self._popen.send_signal(self.orderly)
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(PATIENCE)
        self.kill()

    def kill(self) -> None:
        """End all its processes at once, as a crash does. It leaves nobody who could tidy up."""
        if self._popen is None:
            return
        processes = self._signal_all(signal.SIGSTOP)  # so that it starts no further one meanwhile
        for pid in reversed(processes):
            send(pid, signal.SIGKILL)
        self._popen.wait()
        while any(map(is_alive, processes)):
            time.sleep(0.01)
        (self.folder / "pid").unlink(missing_ok=True)
        self._popen = None

    def pause(self) -> None:
        """Freeze all its processes: connections stay open and get no answer."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal_all(signal.SIGCONT)

    def close(self) -> None:
        """End it in order, and remove its folder if that is a temporary one."""
        try:
            self.stop()
        finally:
            if self._guard:
                self._guard.stdin.close()
                self._guard.wait()
                self._guard = None
            if self._is_temporary:
                shutil.rmtree(self.folder, ignore_errors=True)

    # Use

    def url(self, database: str) -> str:
        """The database as django-environ reads it from DATABASE_URL."""
        return f"{self.scheme}://{self.administrator}@127.0.0.1:{self.port}/{database}"

    def create(self, database: str) -> None:
        """Make an empty database."""
        self._call(self.client(f"CREATE DATABASE {database}"))

    # What each kind answers in its own way

    def install(self) -> list[str]:
        """The command that makes its data."""
        raise NotImplementedError

    def command(self) -> list[str]:
        """The command that is the server."""
        raise NotImplementedError

    def client(self, sql: str) -> list[str]:
        """The command that executes a statement."""
        raise NotImplementedError

    def answers(self) -> bool:
        return subprocess.run(self.client("SELECT 1"), capture_output=True, env=self._environment()).returncode == 0

    # Details

    def _prepare(self) -> None:
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "sh", str(self.folder), "remove" if self._is_temporary else ""],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.folder.mkdir(mode=0o700, exist_ok=not self._is_temporary)  # not before there is somebody to remove it
        if user := self._user().get("user"):
            self._check_that_others_reach_it(user)
            shutil.chown(self.folder, user)
        if not (self.folder / "data").exists():
            self._call(self.install(), **self._user())

    def _user(self) -> dict:
        """As whom its programs run: an argument of subprocess."""
        return {"user": self.system_user, "group": self.system_user, "extra_groups": []} if os.getuid() == 0 else {}

    def _environment(self) -> dict[str, str]:
        """Without what would send a client elsewhere; and its own user may not write where this process may."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "MYSQL", "MARIADB"))}
        return {**kept, "TMPDIR": str(self.folder)}

    def _check_that_others_reach_it(self, user: str) -> None:
        for parent in self.folder.parents:
            if not parent.stat().st_mode & 0o001:
                raise RuntimeError(f"User {user} cannot enter {parent}. Set TMPDIR to a directory that it can enter.")

    def _call(self, command: list[str], **how) -> None:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            **how,
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")

    def _signal_all(self, number: signal.Signals) -> list[int]:
        """Send a signal to the server, then to those that it has started; who they are, the server first."""
        if self._popen is None or self._popen.poll() is not None:
            return []
        send(self._popen.pid, number)
        processes = [self._popen.pid, *children(self._popen.pid)]
        for pid in processes[1:]:
            send(pid, number)
        return processes

    def _last_lines(self) -> str:
        return "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-20:])
