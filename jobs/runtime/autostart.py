"""Whether this process shall have a scheduler, and its start and end in servers."""

import atexit
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import PurePath

from django.core.signals import request_started

from jobs.conf import get_settings
from jobs.core.log import Log
from jobs.runtime import scheduler

logger = Log("jobs")


class Start(StrEnum):
    """When the scheduler of a process starts."""

    NOW = "now"
    NEVER = "never"
    # A server that we do not know, or no server at all: the first request tells.
    AT_FIRST_REQUEST = "at the first request"


# A service manager signals every process of a server, and the server its workers once more: that is one request.
SAME_SIGNAL_SECONDS = 1.0

_COMMAND_RUNNERS = ("manage.py", "django-admin", "django-admin.py", "django-admin.exe", "django/__main__.py")
_OWN_STARTERS = ("runscheduler", "demo")
_SERVERS = ("gunicorn", "gunicorn/__main__.py")
_NO_SERVERS = (
    "pytest", "py.test", "pytest/__main__.py", "unittest/__main__.py", "celery", "celery/__main__.py", "ipython",
    "-c", "",
)  # fmt: skip


def when(argv: Sequence[str], environ: Mapping[str, str], autostart: bool | None) -> Start:
    """When the scheduler starts in a process with this command line and environment.

    `autostart` is JOBS["AUTOSTART"]: None lets the process decide by what it is, True and False overrule. But no
    setting starts one in the parent of `runserver`'s reloader, which serves nothing, or a second one in the commands
    that start their own.
    """
    name = _program(argv)
    command = argv[1] if len(argv) > 1 else ""
    if name in _COMMAND_RUNNERS and (command in _OWN_STARTERS or _is_reloader(command, argv, environ)):
        return Start.NEVER
    if autostart is not None:
        return Start.NOW if autostart else Start.NEVER
    if name in _COMMAND_RUNNERS:
        return Start.NOW if command == "runserver" else Start.NEVER
    if name in _NO_SERVERS or "PYTEST_VERSION" in environ:
        return Start.NEVER
    return Start.NOW if name in _SERVERS else Start.AT_FIRST_REQUEST


def _program(argv: Sequence[str]) -> str:
    """The program's name; with its package where it was started by `python -m`."""
    path = PurePath(argv[0]) if argv else PurePath()
    return f"{path.parent.name}/{path.name}" if path.name == "__main__.py" else path.name


def _is_reloader(command: str, argv: Sequence[str], environ: Mapping[str, str]) -> bool:
    return command == "runserver" and "--noreload" not in argv and not _is_reloaded(environ)


def _is_reloaded(environ: Mapping[str, str]) -> bool:
    """Whether this is the child that `runserver`'s reloader starts, and kills a quarter of a second after Ctrl-C."""
    return environ.get("RUN_MAIN") == "true"


def arm(argv: Sequence[str], environ: Mapping[str, str]) -> None:
    """Prepare what `when` says. Runs no query; called once, while the apps load."""
    decision = when(argv, environ, get_settings().AUTOSTART)
    if decision is Start.NOW and _is_preloading_arbiter(argv):
        arbiter = os.getpid()
        os.register_at_fork(after_in_child=lambda: _start() if os.getppid() == arbiter else None)
    elif decision is Start.NOW:
        _start()
    elif decision is Start.AT_FIRST_REQUEST:
        request_started.connect(_start_at_first_request, dispatch_uid="jobs.autostart")


def _is_preloading_arbiter(argv: Sequence[str]) -> bool:
    """gunicorn --preload loads the site in its arbiter, before that installs its signal handlers; a worker has them."""
    return _program(argv) in _SERVERS and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def _start_at_first_request(**kwargs) -> None:
    request_started.disconnect(dispatch_uid="jobs.autostart")
    _start()


def _start() -> None:
    if threading.current_thread() is threading.main_thread():
        _chain_sigterm()
        if _is_reloaded(os.environ):
            _chain_sigint()
    atexit.register(_stop_at_exit, os.getpid())
    scheduler.start(kind="web")


def _chain_sigterm() -> None:
    """At SIGTERM claim no more, then do what was to be done: a server finishes its requests. What still runs is handed
    back when the process ends, and not before: its function would run on beside its repetition elsewhere."""
    before = signal.getsignal(signal.SIGTERM)
    pid = os.getpid()

    def on_sigterm(signum, frame):
        current = (
            scheduler.current()
        )  # none in a child that was forked later: it inherits this handler, not the threads
        is_second = current is not None and current.stopping_for > SAME_SIGNAL_SECONDS
        if current is not None:
            current.request_stop(0 if is_second else float("inf"))
        if os.getpid() == pid and callable(before):
            before(signum, frame)
        else:  # nobody else ends the process
            scheduler.stop()
            signal.signal(signal.SIGTERM, before if callable(before) else signal.SIG_DFL)
            os.kill(os.getpid(), signum)

    signal.signal(signal.SIGTERM, on_sigterm)


def _chain_sigint() -> None:
    """At Ctrl-C under the reloader hand back at once what runs: there is no time of grace."""
    before = signal.getsignal(signal.SIGINT)

    def on_sigint(signum, frame):
        scheduler.stop(0)
        if callable(before):
            before(signum, frame)

    signal.signal(signal.SIGINT, on_sigint)


def _stop_at_exit(pid: int) -> None:
    if os.getpid() != pid:
        return
    try:
        has_stopped = scheduler.stop()
    except KeyboardInterrupt:  # somebody does not want to wait
        has_stopped = scheduler.stop(0)
    if not has_stopped:
        logger.error("the scheduler did not end in time; other workers take over what it left")
