"""What a claim costs beside a transaction that stays open, such as a long report: while it may still look at the rows
as they were, the database keeps the index entries of all runs that were queued since, and a claim passes by them."""

import time
from contextlib import closing

from benchmarks import report, site
from benchmarks.rows import Rows, fill

CLAIMS = 21  # of each size, rolled back; the quickest counts: other work on the machine only adds
SIZES = (4, 64)
OPEN = {
    "postgresql": ["BEGIN ISOLATION LEVEL REPEATABLE READ"],
    "mysql": ["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"],
}


def execute_and_finish(count: int) -> None:
    """Claim runs and write their success, 100 in a transaction."""
    from jobs.core import clock
    from jobs.core.states import State
    from jobs.lifecycle.claim import claim
    from jobs.lifecycle.database import short_transaction
    from jobs.lifecycle.finish import finish
    from jobs.lifecycle.outcome import Outcome

    for _ in range(count // 100):
        now = clock.now()
        with short_transaction() as db:
            runs = claim(db, worker_id=1, limit=100, now=now)
        with short_transaction() as db:
            finish(db, [Outcome(run=run, state=State.SUCCEEDED, started_at=now, ended_at=now) for run in runs])


def claim_microseconds(limit: int) -> float:
    from django.db import transaction

    from jobs.core import clock
    from jobs.lifecycle.claim import claim
    from jobs.lifecycle.database import alias, short_transaction

    times = []
    for _ in range(CLAIMS):
        with short_transaction() as db:
            began = time.perf_counter()
            claim(db, worker_id=1, limit=limit, now=clock.now())
            times.append(time.perf_counter() - began)
            transaction.set_rollback(True, using=alias())
    return min(times) * 1e6


def costs(steps: tuple[int, ...], is_open: bool) -> list[tuple]:
    """A row of the table for each number of runs that were executed meanwhile."""
    from django.db import connection, connections

    site.fresh()
    fill(connection, Rows(steps[-1] + 1_000, levels=1))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE TABLE jobs_run" if connection.vendor == "mysql" else "ANALYZE jobs_run")
    rows, done = [], 0
    with closing(connections.create_connection("default")) as other:
        if is_open:
            with other.cursor() as cursor:
                for statement in [*OPEN[other.vendor], "SELECT COUNT(*) FROM jobs_run"]:
                    cursor.execute(statement)
        for step in steps:
            report.progress(f"{step:,} runs executed, {'beside' if is_open else 'without'} an open transaction")
            execute_and_finish(step - done)
            done = step
            name = "beside an open transaction" if is_open else "alone"
            rows.append((name, f"{step:,}", *(f"{claim_microseconds(limit):,.0f}" for limit in SIZES)))
    return rows


def measure(given) -> None:
    steps = (0, 1_000, 5_000) if given.quick else (0, 10_000, 50_000)
    rows = [row for is_open in (False, True) for row in costs(steps, is_open)]
    report.done()
    report.table(("claims", "executed before", *(f"claim of {limit}, us" for limit in SIZES)), rows)
