"""Functions in child processes, which can really be ended. A thread of the worker watches over each."""

import atexit
import multiprocessing
import os
import time
from collections import deque
from contextlib import suppress
from multiprocessing.connection import wait
from weakref import WeakSet

from django.conf import settings as django_settings
from django.db import connections

from jobs.conf import Settings
from jobs.core import clock
from jobs.lifecycle.outcome import Outcome
from jobs.runtime import child
from jobs.runtime.child import END, LINE, OUTCOME, PROGRESS, READY, STOP, TEXT, Site, Work, end_group
from jobs.runtime.context import RunContext
from jobs.runtime.execute import end_of_process

# A function that was asked to end, or whose time is over, has so long to do so by itself.
KILL_AFTER_SECONDS = 5.0
LOOK_SECONDS = 0.25
# How long a child may take to load the site, and to end after it has let go of the line.
START_SECONDS = 60.0
END_SECONDS = 2.0
# Where the system starts no process, the next one is tried after that.
REFUSED_SECONDS = 1.0

_spawn = multiprocessing.get_context("spawn")
_alive: "WeakSet[Child]" = WeakSet()


class Child:
    """One child process. Used by one thread at a time; `end` may be called by any."""

    def __init__(self, site: Site):
        self.executed = 0
        self._is_ready = self._must_die = False
        self._connection, theirs = _spawn.Pipe()
        self._process = _spawn.Process(target=child.main, args=(theirs, site), name="jobs-child")
        self._process.start()
        theirs.close()
        _alive.add(self)

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def execute(self, context: RunContext) -> Outcome:
        """Have a run executed there. If the process ends, the outcome says so: cancelled or out of time where it was
        killed for that, else a loss."""
        context.can_be_killed(self.end)
        is_ready = self._is_ready or self._gets_ready()
        started_at, start = clock.now(), time.monotonic()
        context.begin()
        is_sent = is_ready and self._sends(Work(context.run, *context.limits.seconds))
        outcome = self._watch(context) if is_sent else None
        self.executed += 1
        if outcome is None:
            if not self._must_die:
                self._process.join(END_SECONDS)  # killed before, it could not say how it ended
            self.kill()
            exit_code = None if self._must_die else self._process.exitcode
            return end_of_process(context, started_at, time.monotonic() - start, exit_code)
        outcome.run = context.run
        return outcome

    def end(self) -> None:
        """End the process and all that its functions have started."""
        with suppress(ProcessLookupError, PermissionError):
            end_group(self._process.pid)
        self._process.kill()  # before it was a group of its own

    def kill(self) -> None:
        """The same, and wait until it has ended."""
        self.end()
        self._process.join()
        self._connection.close()
        _alive.discard(self)

    def _gets_ready(self) -> bool:
        """Wait until it has loaded the site; whether it could."""
        ready = wait([self._connection, self._process.sentinel], START_SECONDS)
        with suppress(EOFError, OSError):
            self._is_ready = self._connection in ready and self._connection.recv() == (READY,)
        return self._is_ready

    def _watch(self, context: RunContext) -> Outcome | None:
        """Follow an execution to its outcome; None if the process has ended, or has to."""
        told, kill_at = set(), float("inf")
        while True:
            if self._connection in wait([self._connection, self._process.sentinel], LOOK_SECONDS):
                try:
                    word, *rest = self._connection.recv()
                except (EOFError, OSError):
                    return None
                if word == OUTCOME:
                    return rest[0]
                _TAKE[word](context, *rest)
            elif not self._process.is_alive():
                return None
            if context.should_stop and STOP not in told:
                told.add(STOP)
                self._sends(STOP)
            if context.cancel_requested and END not in told:
                told.add(END)
                kill_at = clock.monotonic() + KILL_AFTER_SECONDS
                if context.is_asked_to_end:  # of its limits it knows by itself
                    self._sends(END)
            if clock.monotonic() >= kill_at:
                self._must_die = True
                return None

    def _sends(self, message: Work | str) -> bool:
        try:
            self._connection.send(message)
        except OSError:  # it has ended
            return False
        return True


_TAKE = {
    PROGRESS: RunContext.progress,
    LINE: lambda context, *texts: context.log.write(*texts),
    TEXT: lambda context, text: context.log.write_text(text),
}


class Children:
    """The children of one worker, kept warm: as many as there were runs at once. Used by all its threads; a deque's
    methods are atomic."""

    def __init__(self, settings: Settings, *, captures_prints: bool):
        self._settings = settings
        self._captures_prints = captures_prints
        self._idle: deque[Child] = deque()

    def execute(self, context: RunContext) -> Outcome:
        mine = self._take()
        try:
            return mine.execute(context)
        finally:
            if mine.is_alive and mine.executed < self._settings.PROCESS_RUNS:
                self._idle.append(mine)
            else:
                mine.kill()

    def stop(self) -> None:
        """End those that are idle. Those at work are ended by who hands back their runs, or with this process."""
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().kill()

    def _take(self) -> Child:
        while self._idle:
            with suppress(IndexError):
                if (idle := self._idle.pop()).is_alive:
                    return idle
        try:
            return Child(self._site())
        except OSError:  # no more processes, or no memory for one: the run goes back to its queue unstarted
            time.sleep(REFUSED_SECONDS)
            raise

    def _site(self) -> Site:
        return Site(
            settings_module=os.environ.get("DJANGO_SETTINGS_MODULE") or django_settings.SETTINGS_MODULE,
            databases={alias: str(connections.databases[alias]["NAME"]) for alias in connections},
            captures_prints=self._captures_prints,
            memory_bytes=self._settings.PROCESS_MEMORY_BYTES,
        )


def kill_all() -> None:
    """End all children of this process: of those that still work the runs were handed back."""
    for each in list(_alive):
        each.kill()


def _forget_in_fork() -> None:
    """They are another process's."""
    _alive.clear()


atexit.register(kill_all)  # after multiprocessing's own, so before it: that one waits for them
os.register_at_fork(after_in_child=_forget_in_fork)
