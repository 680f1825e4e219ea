"""Whether a claim costs more in a full table. Run: python -m benchmarks.claim [--quick] [--db URL]

The claim itself (find the best, take them), in transactions that are rolled back, in several database files in turn;
its time relative to that in a small table, turn by turn. Claims of 4 are what idle threads ask for, of 64 what the
look-ahead asks for. The look is what a dispatcher reads outside of a transaction to see whether there is anything to
do. With mixed priorities the best runs lie scattered over the whole table, with one priority side by side.

With --db, on a server: a claim after many runs were executed, alone and beside a transaction that stays open.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks import report, site, snapshot
from benchmarks.rows import Rows, database_with, open_database

SMALL = 1_000
SIZES = (4, 64)


@dataclass(frozen=True)
class Case:
    """What stands in the table beside a thousand queued runs of the queue `default`, and how the worker claims."""

    name: str
    beside: Rows | None
    queues: Sequence[str] | None = None
    paused: frozenset[str] = frozenset()


def cases(million: int, many: int) -> list[Case]:
    return [
        Case(f"{SMALL:,} queued, mixed priorities", None),
        Case(f"{million:,} queued", Rows(million, levels=1)),
        Case(f"{million:,} queued, mixed priorities", Rows(million)),
        Case(f"{million:,} finished", Rows(million, state="succeeded")),
        Case(f"{many:,} deferred", Rows(many, state="scheduled")),
        Case(f"{many:,} blocked", Rows(many, state="blocked")),
        Case(f"{many:,} in a paused queue", Rows(many, queue="paused"), paused=frozenset({"paused"})),
        Case(f"{many:,} in a foreign queue", Rows(many, queue="foreign"), queues=("default",)),
        Case(f"{many:,} in 10 other queues", Rows(many, queues=10)),
    ]


def claim(connection, case: Case, limit: int) -> float:
    """Microseconds of one claim, which is rolled back."""
    from jobs.core import clock
    from jobs.lifecycle.claim import claim

    with connection.cursor() as cursor:
        cursor.execute("BEGIN IMMEDIATE")
    began = time.perf_counter()
    claimed = claim(connection, worker_id=1, limit=limit, now=clock.now(), queues=case.queues, paused=case.paused)
    taken = time.perf_counter() - began
    connection.connection.rollback()
    if len(claimed) != limit:
        raise RuntimeError(f"{case.name}: claimed {len(claimed)} of {limit}")
    return taken * 1e6


def look(connection, case: Case) -> float:
    from jobs.lifecycle.claim import best_waiting
    from jobs.lifecycle.promote import next_due_at

    began = time.perf_counter()
    next_due_at(connection)
    best_waiting(connection, 1, case.queues, case.paused)
    return (time.perf_counter() - began) * 1e6


def measure(connections: dict[Case, object], once: Callable[[object, Case], float], turns: int) -> dict[Case, list]:
    """Times by case. All take turns; the first turns warm up."""
    times = {case: [] for case in connections}
    for turn in range(-turns // 10, turns):
        for case, connection in connections.items():
            taken = once(connection, case)
            if turn >= 0:
                times[case].append(taken)
    return times


def column(times: dict[Case, list[float]], base: Case) -> dict[Case, str]:
    found = {}
    for case, values in times.items():
        ratio = median(value / small for value, small in zip(values, times[base], strict=True))
        found[case] = f"{median(values):,.0f} ({ratio:.2f})"
    return found


def main() -> None:
    given = report.options("Microseconds of a claim.", has_db=True)
    site.setup()
    report.heading("Claim", given)
    if given.db:
        snapshot.measure(given)
    else:
        beside_other_rows(given)


def beside_other_rows(given) -> None:
    million, many, turns = (100_000, 10_000, 100) if given.quick else (1_000_000, 100_000, 500)
    connections = {}
    for case in cases(million, many):
        report.progress(f"filling: {case.name}")
        path = database_with([Rows(SMALL), *([case.beside] if case.beside else [])])
        connections[case] = open_database(path)
    base = next(iter(connections))
    columns = []
    for limit in SIZES:
        report.progress(f"claims of {limit}, {turns} of each")
        times = measure(connections, lambda connection, case, limit=limit: claim(connection, case, limit), turns)
        columns.append(column(times, base))
    columns.append(column(measure(connections, look, turns), base))
    report.done()
    rows = [(case.name, *(column[case] for column in columns)) for case in connections]
    report.table(("beside", *(f"claim of {limit}, us" for limit in SIZES), "look, us"), rows)
    print("In brackets: times that of the small table, median over turns.")


if __name__ == "__main__":
    main()
