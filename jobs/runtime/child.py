"""A process that executes functions for a worker: what happens in it. Its other side is `executors.processes`.

It is started anew (not forked), so it must set up Django by itself, and nothing here may import models before.
"""

import os
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock

from jobs.core import clock
from jobs.core.crew import Crew, Seat
from jobs.core.wake import Flag
from jobs.runtime.context import RunContext
from jobs.runtime.limits import Limits
from jobs.runtime.logs import LogBuffer

# Whether this is such a process: then no scheduler starts in it, whatever its command line looks like.
is_child = False

LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Site:
    """What a child must know before it can work. `databases` are the names in use: those of tests are not in the
    settings."""

    settings_module: str
    databases: dict[str, str]
    captures_prints: bool
    memory_bytes: int | None


# What is sent to a child, beside a Work: end the function, because somebody has asked for it; the worker is being shut
# down. What a child sends: that it can work; progress, parts of a line and text of the log; the outcome.
END, STOP = "end", "stop"
READY, PROGRESS, LINE, TEXT, OUTCOME = "ready", "progress", "line", "text", "outcome"


@dataclass(frozen=True)
class Work:
    """A claimed run to be executed, with its limits in seconds."""

    run: object
    timeout: float | None
    progress_timeout: float | None


class _Line:
    """The way to the worker. Lock rule: `_lock` is held for a sending: any thread of a function may tell something."""

    def __init__(self, connection: Connection):
        self._connection = connection
        self._lock = Lock()

    def send(self, word: str, *told) -> None:
        with self._lock:
            self._connection.send((word, *told))


class _SentLog(LogBuffer):
    """A log whose every piece goes to the worker, which keeps it within its bounds."""

    def __init__(self, line: _Line):
        super().__init__(0)
        self._line = line

    def write(self, *texts: str) -> None:
        self._line.send(LINE, *texts)

    def write_text(self, text: str) -> None:
        self._line.send(TEXT, text)


class _ChildContext(RunContext):
    """A run in a child: what it tells goes to the worker."""

    def __init__(self, work: Work, line: _Line, stopping: Flag):
        limits = Limits(work.timeout, work.progress_timeout)
        super().__init__(work.run, limits=limits, stopping=stopping, claimed_at=clock.monotonic(), max_log_bytes=0)
        self.log = _SentLog(line)
        self.seat = Seat(Crew(1, is_whole=False), self.id)
        self._line = line

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        super().progress(done, total, message)
        if told := self.take_progress():
            self._line.send(PROGRESS, *told)


class _Inbox:
    """What comes from the worker, read by a thread of its own while the main thread executes."""

    def __init__(self, connection: Connection, line: _Line):
        self._connection = connection
        self._line = line
        self._stopping = Flag()
        self._works: SimpleQueue[_ChildContext] = SimpleQueue()
        self._current: _ChildContext | None = None
        threading.Thread(target=self._read, name="jobs-inbox", daemon=True).start()

    def next(self) -> _ChildContext:
        """Wait for the next run."""
        return self._works.get()

    def is_done(self) -> None:
        """The function of the run has ended."""
        self._current = None

    def _read(self) -> None:
        try:
            while True:
                if self._connection.poll(LOOK_SECONDS if self._current else None):
                    self._take(self._connection.recv())
                if (context := self._current) is not None:
                    context.stop_if_must()
        except (EOFError, OSError):  # the worker is gone, and its run may be executed elsewhere already
            end_group(os.getpid())

    def _take(self, message: Work | str) -> None:
        if isinstance(message, Work):
            self._current = _ChildContext(message, self._line, self._stopping)
            self._works.put(self._current)
        elif message == STOP:
            self._stopping.set()
        elif (context := self._current) is not None:
            context.is_asked_to_end = True


def end_group(pid: int) -> None:
    """Kill a child with all the processes that its functions have started."""
    os.killpg(pid, signal.SIGKILL)


def main(connection: Connection, site: Site) -> None:
    """The life of a child: one run after the other, until the worker closes the line."""
    global is_child
    is_child = True
    os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):  # those who send them to all processes mean the worker
        signal.signal(number, lambda *_: None)
    _set_up(site)
    from jobs.runtime import capture, connections
    from jobs.runtime.execute import execute

    line = _Line(connection)
    inbox = _Inbox(connection, line)
    connections.begin_watching()
    line.send(READY)
    with capture.prints(site.captures_prints):
        while True:
            context = inbox.next()
            connections.watch()
            outcome = execute(context)
            inbox.is_done()
            connections.tidy(was_cut_short=context.was_cut_short)
            sys.stdout.flush()
            line.send(OUTCOME, outcome)


def _set_up(site: Site) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = site.settings_module
    import django

    django.setup()
    from django.db import connections

    for alias, name in site.databases.items():
        connections.databases[alias]["NAME"] = name
    if site.memory_bytes is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (site.memory_bytes, site.memory_bytes))
