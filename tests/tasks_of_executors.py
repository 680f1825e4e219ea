"""What every executor must handle alike, done by functions that child processes know as well."""

import asyncio
import logging
import threading
import time
from datetime import date
from decimal import Decimal

from django.db import transaction

import jobs

logger = logging.getLogger(__name__)

NASTY = "nul \x00, half a pair \ud800, bee 🐝"
PATIENCE = 20


class Unpicklable(Exception):
    def __init__(self):
        super().__init__("has a lock")
        self.lock = threading.Lock()


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def _raise(error: BaseException):
    raise error


def _second_time(error: BaseException) -> int:
    attempt = jobs.current_run().attempt
    return _raise(error) if attempt < 2 else attempt


def _tell():
    run = jobs.current_run()
    run.progress(1, total=3, message=NASTY)
    logger.warning("%s", NASTY)
    return [run.id is not None, run.attempt, run.task.rpartition(".")[2], run.should_stop, run.remaining]


def _listen():
    run = jobs.current_run()
    deadline = time.monotonic() + PATIENCE
    while not run.cancel_requested and time.monotonic() < deadline:
        time.sleep(0.005)
    run.raise_if_cancelled()


def _leave_a_transaction():
    from jobs.models import Job

    transaction.set_autocommit(False)
    Job.objects.create(name="never committed", task="x")


DEEDS = {
    "return": lambda: {"a": [1, "x", None]},
    "return nothing": lambda: None,
    "return an object": object,
    "return too much": lambda: "x" * 100_000,
    "return nasty text": lambda: NASTY,
    "raise": lambda: _raise(ValueError("no")),
    "raise nasty text": lambda: _raise(ValueError(NASTY)),
    "raise much text": lambda: _raise(ValueError("x" * 1_000_000)),
    "raise what cannot be pickled": lambda: _raise(Unpicklable()),
    "raise what has no text": lambda: _raise(Unspeakable()),
    "exit": lambda: _raise(SystemExit(3)),
    "Ctrl-C": lambda: _raise(KeyboardInterrupt()),
    "give up": lambda: _raise(jobs.GiveUp("never")),
    "retry": lambda: _raise(jobs.Retry("later", after=0)),
    "succeed at the second time": lambda: _second_time(jobs.Retry(after=0)),
    "snooze": lambda: _second_time(jobs.Snooze(0, "not yet")),
    "cancel": lambda: _raise(jobs.Cancelled("nothing to do")),
    "tell": _tell,
}
LATE = {"listen": _listen}
SYNCHRONOUS = {"leave a transaction": _leave_a_transaction}


@jobs.register(name="executors.do", max_attempts=2)
def do(deed: str):
    return (DEEDS | LATE | SYNCHRONOUS)[deed]()


@jobs.register(name="executors.do_async", max_attempts=2)
async def do_async(deed: str):
    await asyncio.sleep(0)
    return (DEEDS | LATE)[deed]()


@jobs.register(name="executors.typed")
def typed(day: date, amount: Decimal, numbers: list[int], word: str | None = None) -> list:
    return [type(each).__name__ for each in (day, amount, numbers, numbers[0], word)]


@jobs.register(name="executors.wait_for")
def wait_for(number: int):
    from jobs.models import Run

    Run.objects.get(pk=number).wait(PATIENCE)
