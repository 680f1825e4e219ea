"""One torture from the empty database to the verdict."""

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import django

from benchmarks import report
from benchmarks.servers import KINDS, Server
from benchmarks.torture import history, ledger
from benchmarks.torture.check import Offence, PastRun, check
from benchmarks.torture.fleet import Fleet
from benchmarks.torture.gremlin import STEP_SECONDS, Gremlin

PATIENCE = 90.0  # seconds without a single end of a run, after the gremlin has gone; then the rest is stuck
SETTLE_STEP = 0.5


@dataclass
class Course:
    """What happened, for the report."""

    seconds: float
    deeds: dict[str, int]
    kills: int
    accepted: set[int]
    executions: list[ledger.Execution]
    history: dict[int, PastRun]
    offences: list[Offence]
    answers: list[ledger.Answer]
    faults: list[str]  # of processes: ends that nobody has asked for

    @property
    def is_good(self) -> bool:
        return not self.offences and not self.faults and not self.is_empty

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing, because nothing has happened."""
        return not self.accepted or not self.executions


@contextmanager
def database(kind: str, folder: Path) -> Iterator[Server | None]:
    """An empty database of our own, named in DATABASE_URL; its server, if there is one."""
    if kind == "sqlite":
        os.environ["DATABASE_URL"] = f"sqlite:///{folder / 'db.sqlite3'}"
        yield None
        return
    with KINDS[kind](durable=True) as server:
        server.create("torture")
        os.environ["DATABASE_URL"] = server.url("torture")
        yield server


def load(folder: Path) -> None:
    from django.core.management import call_command

    os.environ |= {"DJANGO_SETTINGS_MODULE": "benchmarks.torture.settings", "TORTURE_FOLDER": str(folder)}
    django.setup()
    call_command("migrate", verbosity=0)
    _leave_database()


def run(given, folder: Path, tell: Callable) -> Course:
    """The whole course; `given` is the command line. `tell(given, folder, course)` is called while the database is
    still there."""
    choice = random.Random(given.seed)
    start = time.monotonic()
    with database(given.db, folder) as server:
        load(folder)
        sizes = {"producers": given.producers, "workers": given.workers, "threads": given.threads}
        with Fleet(folder, **sizes, choice=choice) as fleet:
            gremlin = Gremlin(fleet, server, choice, kills_per_minute=given.kills_per_minute)
            _torture(fleet, gremlin, 60 * given.minutes)
            fleet.stop(fleet.producers)
            _settle(fleet)
            fleet.stop(fleet.workers)
            fleet.await_orphans()
        course = _course(folder, gremlin, fleet, time.monotonic() - start)
        tell(given, folder, course)
    return course


def _torture(fleet: Fleet, gremlin: Gremlin, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if sys.stderr.isatty():
            report.progress(f"{left:.0f} s to go, {gremlin.kills} kills")
        gremlin.step()
        fleet.look()
        time.sleep(STEP_SECONDS)
    gremlin.rest()
    report.done()


def _settle(fleet: Fleet) -> None:
    """Let the workers end what is unfinished, as long as it becomes less."""
    least, since = float("inf"), time.monotonic()
    while (count := history.unfinished()) and time.monotonic() < since + PATIENCE:
        if count < least:
            least, since = count, time.monotonic()
        for place in fleet.workers:
            place.look()
        time.sleep(SETTLE_STEP)


def _course(folder: Path, gremlin: Gremlin, fleet: Fleet, seconds: float) -> Course:
    accepted, executions, past = ledger.accepted(folder), ledger.executions(folder), history.read()
    answers = ledger.answers(folder)
    return Course(
        seconds=seconds,
        deeds=dict(gremlin.done),
        kills=gremlin.kills,
        accepted=accepted,
        executions=executions,
        history=past,
        offences=check(accepted, executions, past, answers),
        answers=answers,
        faults=fleet.faults,
    )


def _leave_database() -> None:
    """The server that this connection belongs to may be killed."""
    from django.db import connections

    connections.close_all()
