"""`manage.py runscheduler`: execute runs in a process of its own until a signal ends it."""

import logging
import os
import signal
import sys

from django.core.management.base import CommandError

from jobs.management.base import JobsCommand
from jobs.runtime import scheduler


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

    def handle(self, *, threads=None, queues=None, grace=None, drain=False, **options):
        mine = scheduler.Scheduler(
            kind="runscheduler", threads=threads, queues=queues, grace_seconds=grace, drain=drain
        )
        before = {number: signal.signal(number, _stopper(mine)) for number in (signal.SIGTERM, signal.SIGINT)}
        mine.start()
        self.stdout.write("The scheduler works. Ctrl-C stops it." if not drain else "Running all that is due.")
        mine.stopped.wait()
        if mine.has_running_functions:
            self._leave_at_once()
        for number, handler in before.items():
            signal.signal(number, handler)
        if mine.refusal is not None:
            raise CommandError(str(mine.refusal))
        if mine.fault is not None:
            raise CommandError(f"The scheduler ended because of an error in itself: {mine.fault!r}")
        self.stdout.write("The scheduler has stopped.")

    def _leave_at_once(self):
        """End with the functions that still run: their runs were handed back and may be running elsewhere already."""
        self.stdout.write("The scheduler has stopped; functions that did not end in time were handed back.")
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _stopper(mine: scheduler.Scheduler):
    def on_signal(signum, frame):
        is_second = mine.is_stopping
        mine.request_stop(0 if is_second else None)

    return on_signal


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
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
