"""What long outages cost, with the settings that every site has. Run: python -m benchmarks.outages --db postgresql

Three workers with functions at work and runs waiting; then for a minute the database server is stopped, or frozen, or
somebody holds SQLite's write lock, or all workers are frozen. Nobody has died, so nobody may be taken for dead: a false
rescue is one that was. At last a worker is killed: how soon are its runs started again?

--db sqlite, postgresql or mariadb; a server is one of its own. --quick: short outages with quicker heartbeats.
Ends with status 1 if there was a false rescue, a run was lost or executed twice, or was started again too late.
"""

import argparse
import atexit
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from benchmarks import report, site
from benchmarks.servers import KINDS, Server

WORKERS, THREADS, WAITING = 3, 2, 50
QUICK = {"HEARTBEAT_SECONDS": 1.0, "LOST_AFTER_SECONDS": 4.5}
# How long the functions take that work when the outage begins, as parts of it: they end before it, in it, after it.
LENGTHS = (0.1, 0.5, 0.9, 1.1, 1.3, 1.5)
BROKEN = ("false rescues", "runs lost", "executed twice")  # what is counted; 0 is promised


def start_server(kind: str) -> Server | None:
    """A server of our own, which the benchmarks' settings find, until the end of this process; none for SQLite."""
    if kind == "sqlite":
        return None
    server = KINDS[kind]()
    atexit.register(server.close)  # later than what the benchmarks' site has to tidy up in it
    server.start()
    server.create("outages")
    os.environ["BENCHMARKS_DATABASE_URL"] = server.url("outages")
    return server


@contextmanager
def workers(count: int, jobs: dict) -> Iterator[list[subprocess.Popen]]:
    """So many workers at work; what they say goes nowhere."""
    with ExitStack() as stack:
        command = ("django", "runscheduler", f"--threads={THREADS}")
        yield [stack.enter_context(site.process(*command, jobs=jobs, stderr=subprocess.DEVNULL)) for _ in range(count)]


# The outages. Each is a way to begin one, and a way to end it.


def stopped(server: Server, _) -> tuple[Callable, Callable]:
    return server.stop, server.start


def frozen_server(server: Server, _) -> tuple[Callable, Callable]:
    return server.pause, server.resume


def frozen_workers(_, processes) -> tuple[Callable, Callable]:
    """All at once, as a host that sleeps; perhaps in the middle of a transaction, whose locks stay until they thaw."""

    def send(number):
        for process in processes:
            process.send_signal(number)

    return lambda: send(signal.SIGSTOP), lambda: send(signal.SIGCONT)


def foreign_lock(_, __) -> tuple[Callable, Callable]:
    other = sqlite3.connect(site.directory() / "db.sqlite3", timeout=60, isolation_level=None)
    return lambda: other.execute("BEGIN IMMEDIATE"), other.close


ON_SERVERS = {"server stopped": stopped, "server frozen": frozen_server, "all workers frozen": frozen_workers}
ON_SQLITE = {"foreign write lock": foreign_lock, "all workers frozen": frozen_workers}


def through(outage, server, seconds: float, jobs: dict) -> tuple:
    """What an outage of so many seconds did: a row of the table."""
    from benchmarks.tasks import note, work

    site.fresh()
    with workers(WORKERS, jobs) as processes:
        site.wait_for_workers(WORKERS)
        work.enqueue_many(
            [{"number": n, "milliseconds": round(1000 * part * seconds)} for n, part in enumerate(LENGTHS)]
        )
        _wait_for_starts(len(LENGTHS))
        note.using(priority=1).enqueue_many([{"number": len(LENGTHS) + n} for n in range(WAITING)])
        begin, end = outage(server, processes)
        try:
            begin()
            time.sleep(seconds)
        finally:  # a ^C leaves nobody frozen
            end()
        over = time.monotonic_ns()
        _forget_connections()
        site.wait_until(site.all_finished, seconds=4 * seconds + 60, what="all runs have finished", step=0.5)
        time.sleep(2 * jobs.get("HEARTBEAT_SECONDS", 10.0))  # late rescues would be false ones as well
        return _counts(over)


def _wait_for_starts(count: int) -> None:
    site.wait_until(lambda: site.count_starts() >= count, seconds=60, what=f"{count} functions have started", step=0.02)


def _forget_connections() -> None:
    from django.db import connections

    with suppress(Exception):
        connections.close_all()


def _counts(over: int) -> tuple:
    from jobs.models import Attempt, Run, Worker

    starts = site.starts()
    numbers = [number for number, _ in starts]
    after = [at for _, at in starts if at > over]
    return (
        WORKERS,
        Worker.objects.filter(state="dead").count() + Attempt.objects.filter(outcome="lost").count(),
        Run.objects.exclude(state="succeeded").count(),
        len(numbers) - len(set(numbers)),
        f"{(min(after) - over) / 1e9:.1f}" if after else "-",
    )


def killed(jobs: dict) -> list[float]:
    """Seconds from `kill -9` until each of the killed worker's runs was started again."""
    from benchmarks.tasks import work

    site.fresh()
    with workers(1, jobs) as (victim,):
        work.enqueue_many([{"number": n, "milliseconds": 1000} for n in range(THREADS)])
        site.wait_until(site.all_finished, seconds=60, what="the worker works")
        work.enqueue_many([{"number": n, "milliseconds": 600_000} for n in range(10, 10 + THREADS)])
        _wait_for_starts(2 * THREADS)
        with workers(1, jobs | {"GRACE_SECONDS": 0.0}):
            site.wait_for_workers(2)
            at = time.monotonic_ns()
            victim.kill()
            _wait_for_more(3 * THREADS, jobs)
            return [(began - at) / 1e9 for _, began in site.starts()[-THREADS:]]


def _wait_for_more(count: int, jobs: dict) -> None:
    longest = 4 * jobs.get("LOST_AFTER_SECONDS", 45.0)
    site.wait_until(lambda: site.count_starts() >= count, seconds=longest, what="lost runs were started", step=0.02)


def limit(jobs: dict) -> float:
    """Within how many seconds a killed worker's runs must be started again."""
    return jobs.get("LOST_AFTER_SECONDS", 45.0) + 2 * jobs.get("HEARTBEAT_SECONDS", 10.0) + 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", choices=("sqlite", *KINDS), default="sqlite")
    parser.add_argument("--quick", action="store_true", help="short outages, to see that it works")
    given = parser.parse_args()
    jobs, seconds = (QUICK, 6.0) if given.quick else ({}, 60.0)
    server = start_server(given.db)
    site.setup()
    report.heading("Outages", given)
    print(f"  Workers: {jobs or 'as every site has them'}", flush=True)
    rows = []
    for name, outage in (ON_SERVERS if server else ON_SQLITE).items():
        report.progress(f"{name} for {seconds:g} s")
        rows.append((f"{name} for {seconds:g} s", *through(outage, server, seconds, jobs)))
    report.progress("a worker is killed")
    again = killed(jobs)
    report.done()
    report.table(("outage", "workers", *BROKEN, "work goes on after s"), rows)
    print(f"Runs of a killed worker started again after {report.spread(again, 1)} s; promised: {limit(jobs):g} s")
    return int(any(any(row[2 : 2 + len(BROKEN)]) for row in rows) or max(again) > limit(jobs))


if __name__ == "__main__":
    sys.exit(main())
