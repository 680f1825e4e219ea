"""Whether this process shall have a scheduler, and its start and end in servers."""

import atexit
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import PurePath
from types import MappingProxyType

from django.core.signals import request_started

from jobs.conf import get_settings
from jobs.core.log import Log
from jobs.runtime import child, scheduler

logger = Log("jobs")


class Start(StrEnum):
    """When the scheduler of a process starts."""

    NOW = "now"
    NEVER = "never"
    # A server that we do not know, or no server at all: the first request tells.
    AT_FIRST_REQUEST = "at the first request"


# A service manager signals every process of a server, and the server its workers once more: that is one request.
SAME_SIGNAL_SECONDS = 1.0

_UID = "jobs.autostart"

_COMMAND_RUNNERS = ("manage.py", "django-admin", "django-admin.py", "django-admin.exe", "django")
_OWN_STARTERS = ("runscheduler", "demo")

# Servers whose processes load the site when they are about to serve it, by the program's name; and the modules one of
# which is loading it then. Where none is, this is another process of that server, such as a parent that reloads.
SERVERS = MappingProxyType(
    {
        "gunicorn": ("gunicorn.workers.",),
        "uvicorn": ("uvicorn.",),
        "hypercorn": ("hypercorn.asyncio.", "hypercorn.trio."),
        "daphne": ("daphne.",),
        "waitress-serve": ("waitress.",),
    }
)
_AS_MODULE = {"waitress": "waitress-serve"}  # `python -m` knows it by another name
_TEST_RUNNERS = ("pytest", "py.test", "unittest")
_NO_SERVERS = ("celery", "ipython", "-c", "")


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
    if name in _NO_SERVERS or _is_in_tests(argv, environ):
        return Start.NEVER
    return Start.NOW if name in SERVERS else Start.AT_FIRST_REQUEST


def starts_with_lifespan(argv: Sequence[str], environ: Mapping[str, str], autostart: bool | None) -> bool:
    """Whether the scheduler starts when an ASGI server says that it begins to serve: that is no guess any more. Only
    tests, which do the same with a server of their own, have none unless the setting asks for it."""
    return not _is_in_tests(argv, environ) if autostart is None else autostart


def _is_in_tests(argv: Sequence[str], environ: Mapping[str, str]) -> bool:
    name = _program(argv)
    is_test_command = name in _COMMAND_RUNNERS and argv[1:2] == ["test"]
    return name in _TEST_RUNNERS or "PYTEST_VERSION" in environ or is_test_command


def _program(argv: Sequence[str]) -> str:
    """The program's name; where it was started by `python -m`, that of its package."""
    path = PurePath(argv[0]) if argv else PurePath()
    if path.name != "__main__.py":
        return path.name
    package = path.parent.name or path.name
    return _AS_MODULE.get(package, package)


def _is_reloader(command: str, argv: Sequence[str], environ: Mapping[str, str]) -> bool:
    return command == "runserver" and "--noreload" not in argv and not _is_reloaded(environ)


def _is_reloaded(environ: Mapping[str, str]) -> bool:
    """Whether this is the child that `runserver`'s reloader starts, and kills a quarter of a second after Ctrl-C."""
    return environ.get("RUN_MAIN") == "true"


def arm(argv: Sequence[str], environ: Mapping[str, str]) -> None:
    """Prepare what `when` says. Runs no query; called once, while the apps load."""
    setting = get_settings().AUTOSTART
    if child.is_child:
        return
    decision = when(argv, environ, setting)
    if decision is Start.NOW and _is_loaded_to_serve(argv, setting):
        start()
    elif decision is Start.NOW and _program(argv) == "gunicorn":  # --preload: the arbiter's children will serve
        _start_in_forks()
    elif decision is not Start.NEVER:
        request_started.connect(_start_at_first_request, dispatch_uid=_UID)


def _is_loaded_to_serve(argv: Sequence[str], setting: bool | None) -> bool:
    """Whether who loads the apps will serve them. Not so the arbiter of gunicorn with --preload; a parent that
    reloads; and a process that a task function has made with `multiprocessing`, which has its parent's command line."""
    name = _program(argv)
    if name in SERVERS and (setting is None or name == "gunicorn"):
        return _is_loaded_by(SERVERS[name])
    return setting is not None or multiprocessing.parent_process() is None


def _is_loaded_by(modules: tuple[str, ...]) -> bool:
    frame = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(modules):
            return True
        frame = frame.f_back
    return False


def _start_in_forks() -> None:
    arbiter = os.getpid()
    os.register_at_fork(after_in_child=lambda: start() if os.getppid() == arbiter else None)


def _start_at_first_request(**kwargs) -> None:
    start()


def start() -> None:
    """Start this process's scheduler, and have it stopped when the process ends. May be called again, by one who knows
    better: servers replace each other's handlers of signals on the way."""
    request_started.disconnect(dispatch_uid=_UID)
    if threading.current_thread() is threading.main_thread():
        _chain_sigterm()
        if _is_reloaded(os.environ):
            _chain_sigint()
    _stop_at_exit_of(os.getpid())
    scheduler.start(kind="web")


@cache
def _stop_at_exit_of(pid: int) -> None:
    atexit.register(_stop_at_exit, pid)


def _chain_sigterm() -> None:
    """At SIGTERM claim no more, then do what was to be done: a server finishes its requests. What still runs is handed
    back when the process ends, and not before: its function would run on beside its repetition elsewhere."""
    before = signal.getsignal(signal.SIGTERM)
    if getattr(before, "begins_the_stop", False):
        return
    pid = os.getpid()

    def on_sigterm(signum, frame):
        current = scheduler.current()  # none in a fork: it inherits this handler, not the threads
        is_second = current is not None and current.stopping_for > SAME_SIGNAL_SECONDS
        if current is not None:
            current.request_stop(0 if is_second else float("inf"))
        if os.getpid() == pid and callable(before):
            before(signum, frame)
        else:  # nobody else ends the process
            scheduler.stop()
            signal.signal(signal.SIGTERM, before if callable(before) else signal.SIG_DFL)
            os.kill(os.getpid(), signum)

    on_sigterm.begins_the_stop = True
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
    grace, has_stopped = None, None
    while has_stopped is None:
        try:
            has_stopped = scheduler.stop(grace)
        except (KeyboardInterrupt, SystemExit):  # the latter from handlers of servers: gunicorn's SIGINT, QUIT and ABRT
            if scheduler.current().stopping_for > SAME_SIGNAL_SECONDS:  # somebody does not want to wait
                grace = 0
    if not has_stopped:
        logger.error("the scheduler did not end in time; other workers take over what it left")
