"""`manage.py runscheduler`: execute runs in a process of its own, or in several, until a signal ends it."""

import logging
import os
import sys
from threading import Thread

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from jobs.conf import get_settings
from jobs.core.log import Log
from jobs.lifecycle.ageing import AgeingMismatch
from jobs.lifecycle.server import UnsupportedServer
from jobs.management.base import JobsCommand
from jobs.runtime import lifeline, scheduler
from jobs.runtime.signal_inbox import STOPS, SignalInbox
from jobs.runtime.supervisor import REFUSED, Supervisor, worker_command

logger = Log("jobs")

MOST_PROCESSES = 1000


class Command(JobsCommand):
    help = (
        "Execute runs in this process. SIGTERM or Ctrl-C ends it in order: nothing new starts, running functions get "
        "the time of grace, what is left is handed back. A second signal ends it at once."
    )

    def add_arguments(self, parser):
        parser.add_argument("--threads", type=_count, help="Functions at once (default: JOBS THREADS).")
        parser.add_argument("--queues", type=_names, help="Serve only these queues, separated by commas.")
        parser.add_argument(
            "--grace", type=_seconds, help="Seconds for running functions at a stop (JOBS GRACE_SECONDS)."
        )
        parser.add_argument("--drain", action="store_true", help="Run all that is due, then exit.")
        parser.add_argument(
            "--processes",
            type=_processes,
            default=1,
            help="Worker processes, each with its own threads. With more than one, this process starts them, watches "
            "them and starts them again when they die.",
        )

    def handle(self, *, processes=1, threads=None, queues=None, grace=None, drain=False, **options):
        line = lifeline.take(os.environ)
        try:
            if processes > 1 and line is None:
                self._supervise(processes, drain=drain)
            else:
                self._work(line, threads=threads, queues=queues, grace_seconds=grace, drain=drain)
        except (AgeingMismatch, UnsupportedServer, ImproperlyConfigured) as refusal:
            if line is not None:
                line.tell(str(refusal))
                sys.exit(REFUSED)
            raise CommandError(str(refusal), returncode=REFUSED) from None

    def _supervise(self, processes: int, *, drain: bool) -> None:
        get_settings()  # what is wrong in them is told once, here
        command = worker_command()
        supervisor = Supervisor(lambda: lifeline.WorkerProcess(command), processes, restarts=not drain)
        self.stdout.write("Running all that is due." if drain else f"{processes} processes work. Ctrl-C stops them.")
        self.stdout.flush()
        supervisor.run()
        if supervisor.refusal is not None:
            raise CommandError(supervisor.refusal, returncode=REFUSED)
        if supervisor.failures:
            raise CommandError(f"{supervisor.failures} of {processes} processes did not end in order.")
        self.stdout.write("All processes have stopped.")

    def _work(self, line: lifeline.Lifeline | None, *, drain: bool, **options) -> None:
        mine = scheduler.Scheduler(kind="runscheduler", drain=drain, **options)
        say = self.stdout.write if line is None else _log
        with SignalInbox(STOPS) as inbox:
            if line is not None:
                line.follow(mine.request_stop)
            mine.start()
            say("Running all that is due." if drain else "The scheduler works. Ctrl-C stops it.")
            _wait_for_end(mine, inbox, is_supervised=line is not None)
            if mine.has_running_functions:
                say("The scheduler has stopped; functions that did not end in time were handed back.")
                _leave_at_once()
        if mine.refusal is not None:
            raise mine.refusal
        if mine.fault is not None:
            raise CommandError(f"The scheduler ended because of an error in itself: {mine.fault!r}")
        say("The scheduler has stopped.")


def _log(words: str) -> None:
    """What one of several workers has to say, among the words of the others."""
    logger.info("pid %s: %s", os.getpid(), words)


def _leave_at_once():
    """End with the functions that still run: their runs were handed back and may be running elsewhere already."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _wait_for_end(mine: scheduler.Scheduler, inbox: SignalInbox, *, is_supervised: bool) -> None:
    """A supervised worker may get one request twice: from its supervisor, and from a terminal or service manager that
    signals all processes. There the second request comes from the supervisor alone, and by another way."""
    Thread(target=_tell_the_end, args=[mine, inbox], name="jobs-end", daemon=True).start()
    while not mine.stopped.is_set():
        for _ in inbox.wait():
            is_second = mine.is_stopping and not is_supervised
            mine.request_stop(0 if is_second else None)


def _tell_the_end(mine: scheduler.Scheduler, inbox: SignalInbox) -> None:
    mine.stopped.wait()
    inbox.wake()


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _processes(text: str) -> int:
    value = _count(text)
    if value > MOST_PROCESSES:
        raise ValueError
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ValueError
    return names


_count.__name__, _seconds.__name__, _names.__name__ = "whole number", "number of seconds", "list of queues"
_processes.__name__ = f"number from 1 to {MOST_PROCESSES}"
