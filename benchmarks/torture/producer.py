"""A process that enqueues at random until SIGTERM. Run: python -m benchmarks.torture.producer SEED

An enqueue that ends with an error of the connection or of a lock has no answer: the run may be stored or not. It is not
written down as accepted, and both are right. Any other error ends the process, which is a fault.
"""

import random
import signal
import sys
import time
from datetime import timedelta
from threading import Event

import django
from django.db import InterfaceError, OperationalError, connection

from benchmarks.torture import ledger
from benchmarks.torture.check import ASKED

PAUSE_SECONDS = 0.1  # on average, between two calls: more than the workers can do
MOST_WAITING = 300  # beyond that it waits until the workers have caught up
MOST_AT_ONCE = 20
UNIQUE_KEYS = 6
CANCELS, LATELY = 0.2, 30  # how often it asks one of so many of its last runs to end
# SQLSTATE classes of PostgreSQL: connection, rollback (deadlock), lock not available, intervention (shutdown).
NO_ANSWER_CLASSES = ("08", "40", "55", "57")
# Errors of MariaDB: too many connections, shutdown, lock timeout, deadlock, killed; no connection, connection lost.
NO_ANSWER_NUMBERS = (1040, 1053, 1205, 1213, 1317, 1927, 2002, 2003, 2006, 2013)


def options(choice: random.Random) -> dict:
    chosen = {"priority": choice.randint(-100, 100), "on_lost": choice.choice(["requeue", "requeue", "fail"])}
    if choice.random() < 0.2:
        chosen["run_after"] = timedelta(seconds=choice.uniform(0, 3))
    if choice.random() < 0.3:
        chosen["queue"] = choice.choice(["side", "other"])
    if choice.random() < 0.3:
        chosen |= {"max_attempts": choice.randint(2, 4), "backoff": timedelta(seconds=choice.uniform(0.05, 0.5))}
    if choice.random() < 0.15:
        chosen["timeout"] = timedelta(seconds=choice.uniform(0.05, 0.3))
    return chosen


def arguments(choice: random.Random, task) -> dict:
    given = {"milliseconds": choice.choice([0, choice.randint(0, 50), choice.randint(0, 300), choice.randint(0, 300)])}
    if choice.random() < 0.2:
        given["ends"] = choice.choice(["raises", "raises at first", "snoozes", "gives up"])
    if task.name.endswith(".apart") and choice.random() < 0.2:
        given["ends"] = choice.choice(["dies", "dies at first"])
    if "tells" in task.signature.parameters:
        given |= {"tells": choice.random() < 0.2, "listens": choice.random() < 0.3}
    return given


def enqueue(choice: random.Random) -> list[int]:
    """One call of the many ways to enqueue; the ids of the runs that are new."""
    from benchmarks.torture.tasks import apart, endless, wait_for, work

    work = choice.choice([work, work, work, work, apart, endless, wait_for])
    how = choice.choice(["one", "one", "many", "unique", "unique"])
    if how == "many":
        runs = work.using(**options(choice)).enqueue_many(
            [arguments(choice, work) for _ in range(choice.randint(2, MOST_AT_ONCE))]
        )
    else:
        unique = {"unique_key": f"key-{choice.randrange(UNIQUE_KEYS)}"} if how == "unique" else {}
        runs = [work.using(**options(choice), **unique).enqueue(**arguments(choice, work))]
    return [run.pk for run in runs if run.is_new]


def cancel(run_id: int) -> None:
    """Ask this run, or one that works, to end, and write down what was answered."""
    from jobs.models import Run

    run = Run.objects.filter(state="running").order_by("?").first() if run_id % 2 else None
    run = run or Run.objects.filter(pk=run_id).first()
    if run is not None:  # else its enqueue had no answer
        ledger.answer(run.pk, ASKED)
        ledger.answer(run.pk, run.cancel())


def are_workers_behind() -> bool:
    from jobs.models import Run

    return Run.objects.filter(state="queued")[:MOST_WAITING].count() == MOST_WAITING


def is_no_answer(error: Exception) -> bool:
    """Whether it is about the connection or somebody's lock, and not about the statement."""
    if not isinstance(error, (OperationalError, InterfaceError)):
        return False
    if connection.vendor == "sqlite":
        return "lock" in str(error)
    if connection.vendor == "postgresql":
        return (getattr(error.__cause__, "sqlstate", None) or "08").startswith(NO_ANSWER_CLASSES)
    return isinstance(error, InterfaceError) or error.args[0] in NO_ANSWER_NUMBERS


def main(seed: str) -> None:
    django.setup()
    choice, stopped, lately = random.Random(seed), Event(), []
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    while not stopped.is_set():
        try:
            if not are_workers_behind():
                stored = enqueue(choice)
                ledger.accept(stored)
                lately = [*lately, *stored][-LATELY:]
            if lately and choice.random() < CANCELS:
                cancel(choice.choice(lately))
        except (OperationalError, InterfaceError) as error:
            if not is_no_answer(error):
                raise
            print(f"no answer: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            connection.close()
        time.sleep(choice.uniform(0, 2 * PAUSE_SECONDS))


if __name__ == "__main__":
    main(sys.argv[1])
