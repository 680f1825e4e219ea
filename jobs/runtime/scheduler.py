"""A process's scheduler: the thread in which the dispatcher works, from its start to its orderly end."""

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread

from django.apps import apps
from django.db import DatabaseError, InterfaceError

from jobs.conf import get_settings
from jobs.core import wake
from jobs.core.log import Log
from jobs.core.wake import Flag
from jobs.lifecycle.ageing import AgeingMismatch, check_ageing
from jobs.lifecycle.database import begin_session, connection
from jobs.lifecycle.declare import declare_schedules
from jobs.lifecycle.faults import is_lock_timeout, is_refusal, told
from jobs.lifecycle.server import UnsupportedServer, check_server
from jobs.models import Worker
from jobs.runtime import capture, context
from jobs.runtime.dispatcher import Dispatcher
from jobs.runtime.executors.processes import Children
from jobs.runtime.executors.threads import ThreadsExecutor
from jobs.runtime.pause import Pause
from jobs.runtime.wakeups import Wakeup

logger = Log("jobs")

TABLES_PAUSE = 1.0
READY_STEP = 0.05
DRAIN_STEP = 0.05
# How long an unreachable database may hold up the last write of a stop. Others rescue what it would have handed back.
LAST_WRITE_SECONDS = 5.0


class Scheduler:
    """One dispatcher with its threads. `start()` it once, `stop()` it once; both return at once but for the wait.

    `kind` says what the process is ("web", "runscheduler", …). `threads`, `queues` and `grace_seconds` default to the
    JOBS setting. With `drain` it stops by itself when nothing that is due is left.
    """

    def __init__(
        self,
        *,
        kind: str,
        threads: int | None = None,
        queues: Sequence[str] | None = None,
        grace_seconds: float | None = None,
        drain: bool = False,
    ):
        settings = get_settings()
        queues = settings.QUEUES if queues is None else queues
        self.refusal: AgeingMismatch | UnsupportedServer | None = None
        self.fault: BaseException | None = None
        self.stopped = Flag()
        self._grace_seconds = settings.GRACE_SECONDS if grace_seconds is None else grace_seconds
        self._drain = drain
        self._captures_prints = capture.is_wanted(kind, settings.CAPTURE_PRINTS)
        children = Children(settings, captures_prints=self._captures_prints)
        self._dispatcher = Dispatcher(
            ThreadsExecutor(threads or settings.THREADS, default=settings.EXECUTOR, children=children),
            settings,
            kind=kind,
            queues=queues,
            stays=not drain,
        )
        self._wakeup = Wakeup(self._dispatcher.woken, queues)
        self._session = None  # the connection that was prepared last
        self._thread = Thread(target=self._run, name="jobs-dispatcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def request_stop(self, grace_seconds: float | None = None) -> None:
        """Begin the stop: claim nothing more, let running functions end within `grace_seconds`. Returns at once;
        called again with less, e.g. 0, it shortens the time."""
        self._dispatcher.request_stop(self._grace_seconds if grace_seconds is None else grace_seconds)

    @property
    def stopping_for(self) -> float:
        """Seconds since the stop was asked for; negative while it was not."""
        return self._dispatcher.stopping_for

    @property
    def is_stopping(self) -> bool:
        return self._dispatcher.stopping.is_set()

    @property
    def has_running_functions(self) -> bool:
        """After the end: whether functions still run whose runs were handed back."""
        return self._dispatcher.hold.has_functions

    def stop(self, grace_seconds: float | None = None) -> bool:
        """Stop and wait for the end; whether it came. The grace counts from the first request to stop.

        Functions that did not end in time were handed back, and their threads end with the process. Called by a running
        function it returns False at once: the stop waits for that function.
        """
        if grace_seconds is None:
            grace_seconds = max(0.0, self._grace_seconds - max(0.0, self.stopping_for))
        self.request_stop(grace_seconds)
        if context.current_run().id is not None:
            return False
        return self.stopped.wait(grace_seconds + LAST_WRITE_SECONDS + 1.0)

    def _run(self) -> None:
        try:
            if self._is_site_ready() and self._enter():
                with capture.prints(self._captures_prints), self._wakeup.listening():
                    self._loop()
                    self._dispatcher.leave()
        except BaseException as fault:
            self.fault = fault
            logger.exception("the scheduler ends because of an error in itself")
        finally:
            self.stopped.set()
            _close_connection()

    def _is_site_ready(self) -> bool:
        """Wait until all apps are loaded. False: stopped before, as when one of them cannot be loaded."""
        while not apps.ready_event.wait(READY_STEP):
            if self._dispatcher.stopping.is_set():
                return False
        return True

    def _enter(self) -> bool:
        """Become a worker as soon as the database allows it. False: stopped before, or refused."""
        pause = Pause()
        while not self._dispatcher.stopping.is_set():
            try:
                check_server(connection())
                if _has_tables():
                    check_ageing()
                    declare_schedules()
                    self._dispatcher.enter()
                    return True
                pause.tell_once("the tables of jobs are not there yet: waiting for `manage.py migrate`")
                self._dispatcher.stopping.wait(TABLES_PAUSE)
            except (AgeingMismatch, UnsupportedServer) as refusal:
                self.refusal = refusal
                logger.error("the scheduler does not start: %s", refusal)
                return False
            except (DatabaseError, InterfaceError) as error:
                self._pause_after(error, pause)
            except Exception as error:
                logger.exception("the scheduler could not start")
                self._pause_after(error, pause)
        return False

    def _loop(self) -> None:
        pause = Pause()
        while not self._dispatcher.is_done:
            try:
                self._prepare_session()
                did_something = self._dispatcher.cycle()
                pause.reset()
                if self._drain and not self._dispatcher.hold.is_busy:
                    if not did_something:
                        self._dispatcher.request_stop(0)
                    elif not self._dispatcher.had_work:  # somebody else has locked what is due
                        self._dispatcher.stopping.wait(DRAIN_STEP)
                    continue
                if self._dispatcher.had_work:
                    self._wakeup.was_busy()
                if not self._dispatcher.is_done:
                    self._wakeup.wait(self._dispatcher.next_look_in())
            except Exception as error:  # whatever it is: never a dead thread
                self._learn_from(error)
                self._pause_after(error, pause)
            else:
                continue
            if self._dispatcher.is_overdue(LAST_WRITE_SECONDS):
                logger.error("the database cannot be reached: leaving without handing back what is left")
                return

    def _prepare_session(self) -> None:
        db = connection()
        if db.connection is None or db.connection is not self._session:
            db.ensure_connection()
            begin_session(db)
            self._session = db.connection

    def _learn_from(self, error: Exception) -> None:
        """What is about one row must not stop the others; what is about the database passes, or is told at each try."""
        if is_lock_timeout(error) or is_refusal(error):
            self._dispatcher.write_one_by_one()
        elif not isinstance(error, (DatabaseError, InterfaceError)):
            logger.exception("a cycle of the dispatcher failed")
            self._dispatcher.write_one_by_one()

    def _pause_after(self, error: Exception, pause: Pause) -> None:
        seconds = pause.next()
        logger.warning("the dispatcher failed (%s); next try in %.2f s", told(error), seconds)
        _close_connection()
        if self._dispatcher.stopping.is_set():
            time.sleep(seconds)
        else:
            self._dispatcher.stopping.wait(seconds)


def _close_connection() -> None:
    with suppress(Exception):
        connection().close()


def _has_tables() -> bool:
    return Worker._meta.db_table in connection().introspection.table_names()


# The scheduler of this process, if it has one.
_current: Scheduler | None = None
_lock = threading.Lock()


def start(*, kind: str = "web", **options) -> Scheduler:
    """Start this process's scheduler and return it; if there is one that has not stopped, return that one."""
    global _current
    with _lock:
        if _current is None or _current.stopped.is_set():
            _current = Scheduler(kind=kind, **options)
            _current.start()
        return _current


def current() -> Scheduler | None:
    """This process's scheduler, if one was started."""
    return _current


def stop(grace_seconds: float | None = None) -> bool:
    """Stop this process's scheduler, if there is one, and wait for its end; whether it came."""
    return _current is None or _current.stop(grace_seconds)


def _forget_in_child() -> None:
    """A fork copies no threads: the child has no scheduler, and starts none by itself."""
    global _current, _lock
    _current = None
    _lock = threading.Lock()
    wake.clear()
    context.leave()


os.register_at_fork(after_in_child=_forget_in_child)
