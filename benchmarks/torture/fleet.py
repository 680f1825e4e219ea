"""The processes under torture. Each has a place, which is filled again when its process has ended."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.servers.system import children, marked, send
from benchmarks.site import ROOT

END_SECONDS = 30.0  # a process that was asked to stop and still works after that does not stop
LAST_LINES = 60
MARK = f"TORTURED_BY_{os.getpid()}"  # in the environment of all processes under torture
REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # by which the torture itself is asked to end
# Asked to stop while it still loads, it has no handler yet and dies of the signal.
ORDERLY = (0, -signal.SIGTERM)


class Place:
    """One process at a time, started by `command()` whenever it is missing. `faults` tells of ends nobody has asked for
    and of stops that went wrong."""

    def __init__(self, name: str, command, folder: Path, faults: list[str]):
        self.name = name
        self._command = command
        self._output = folder / f"{name}.log"
        self._faults = faults
        self._asked: signal.Signals | None = None
        self._asked_at = 0.0
        self._start()

    @property
    def is_doomed(self) -> bool:
        """Whether it was told to end."""
        return self._asked is not None

    def _start(self) -> None:
        self._asked = None
        with self._output.open("ab") as output:
            self._popen = subprocess.Popen(
                [sys.executable, *self._command()],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", MARK: self.name},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def send(self, number: signal.Signals, pid: int | None = None) -> None:
        """Send a signal to its process, or to one that this one has started."""
        if pid is None and number in (signal.SIGKILL, signal.SIGTERM):
            self._asked, self._asked_at = number, time.monotonic()
        send(pid or self._popen.pid, number)

    def pids(self) -> list[int]:
        """Its process, and those that this one has started."""
        return [self._popen.pid, *children(self._popen.pid)]

    def look(self, *, restart: bool = True) -> bool:
        """Take note of an end, and start it again. Whether the process has ended."""
        code = self._popen.poll()
        if code is None:
            self._look_at_stop()
            return False
        if not self._is_expected(code):
            self._fault(f"ended with status {code} after {self._asked.name if self._asked else 'no signal at all'}")
        self._asked = signal.SIGKILL  # there is nothing more to say about this process
        if restart:
            self._start()
        return True

    def _is_expected(self, code: int) -> bool:
        if self._asked is signal.SIGKILL:
            return True  # it may have been asked to stop before, and have ended by that
        return self._asked is signal.SIGTERM and code in ORDERLY

    def _look_at_stop(self) -> None:
        if self._asked is signal.SIGTERM and time.monotonic() > self._asked_at + END_SECONDS:
            for pid in reversed(self.pids()):
                send(pid, signal.SIGABRT)  # by which Python says where its threads are
            time.sleep(0.5)
            self._fault(f"does not stop within {END_SECONDS:g} s after SIGTERM")
            self.kill()

    def _fault(self, what: str) -> None:
        lines = self._output.read_text(errors="replace").splitlines()[-LAST_LINES:]
        self._faults.append("\n    ".join([f"{self.name} {what}. The last it said:", *lines]))

    def kill(self) -> None:
        """End it; of its end nothing is noted."""
        self.send(signal.SIGKILL)
        self._popen.wait()


class Fleet:
    """Producers and workers, which are missing for no longer than until the next `look`."""

    def __init__(self, folder: Path, *, producers: int, workers: int, threads: int, choice: random.Random):
        self.faults: list[str] = []
        self._choice = choice
        self._threads = threads
        self.producers: list[Place] = []
        self.workers: list[Place] = []
        try:
            for number in range(1, workers + 1):
                command = self._supervisor if number == workers > 1 else self._worker
                self.workers.append(Place(f"worker-{number}", command, folder, self.faults))
            for number in range(1, producers + 1):
                self.producers.append(Place(f"producer-{number}", self._producer, folder, self.faults))
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS)  # a second ^C comes afterwards
        try:
            for place in [*self.producers, *self.workers]:
                place.kill()
            for pid in marked(f"{MARK}="):  # those that they have started
                send(pid, signal.SIGKILL)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _producer(self) -> list[str]:
        return ["-m", "benchmarks.torture.producer", str(self._choice.random())]

    def _worker(self) -> list[str]:
        grace = self._choice.choice([0.1, 5])  # functions take up to 0.3 s: some are interrupted
        return ["-m", "django", "runscheduler", f"--threads={self._threads}", f"--grace={grace}"]

    def _supervisor(self) -> list[str]:
        return [*self._worker(), "--processes=2"]

    def look(self) -> None:
        for place in [*self.producers, *self.workers]:
            place.look()

    def stop(self, places: list[Place]) -> None:
        """Ask these to stop, and wait for their ends."""
        for place in places:
            if not place.is_doomed:
                place.send(signal.SIGTERM)
        left = list(places)
        while left := [place for place in left if not place.look(restart=False)]:
            time.sleep(0.05)

    def await_orphans(self) -> None:
        """A worker whose supervisor was killed must have ended by itself."""
        end = time.monotonic() + END_SECONDS
        while orphans := marked(f"{MARK}="):
            if time.monotonic() > end:
                self.faults.append(f"Processes {orphans} work on although their supervisors have ended.")
                return
            time.sleep(0.05)
