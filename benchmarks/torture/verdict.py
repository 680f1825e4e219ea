"""What the torture prints in the end: counts, and every offence with all that is known about its run."""

import os
import platform
from collections import Counter
from pathlib import Path

from benchmarks import report
from benchmarks.torture import history
from benchmarks.torture.check import (
    CANCELLED,
    FAILED,
    FINISHED,
    INTERRUPTED,
    LOST,
    PROMISES,
    REQUESTED,
    SNOOZED,
    SUCCEEDED,
)
from benchmarks.torture.gremlin import HARM, HARM_TO_SERVER

MOST_NAMED = 20  # offences that are told with all details


def tell(given, folder: Path, course) -> None:
    """Print it. Needs the database still."""
    import django
    from django.db import connection

    with connection.cursor():
        version = ".".join(map(str, connection.get_database_version()))
    print(f"Torture: {connection.display_name} {version}, seed {given.seed}, {course.seconds:.0f} s")
    print(
        f"  Python {platform.python_version()}, Django {django.get_version()}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}; {given.producers} producers, {given.workers} workers of {given.threads} threads"
    )
    report.table(("promises", "broken"), _promises(course))
    report.table(("what happened", "count"), _happened(course))
    report.table(("harm", "count"), _harm(course))
    for offence in course.offences[:MOST_NAMED]:
        print("\n  ".join([f"{offence.kind}: run {offence.run}: {offence.what}", *_evidence(folder, offence.run)]))
    if len(course.offences) > MOST_NAMED:
        print(f"… and {len(course.offences) - MOST_NAMED} more.")
    for fault in course.faults[:MOST_NAMED]:
        print(fault)
    if course.is_empty:
        print("Nothing was accepted, or nothing was executed: no promise was put to the test.")


def _promises(course) -> list[tuple[str, int]]:
    broken = Counter(offence.kind for offence in course.offences)
    rows = [(f"{kind}: {meaning}", broken[kind]) for kind, meaning in PROMISES.items()]
    return [*rows, ("processes that ended unasked, or did not stop", len(course.faults))]


def _happened(course) -> list[tuple[str, object]]:
    states = Counter(run.state for run in course.history.values())
    outcomes = Counter(attempt.outcome for run in course.history.values() for attempt in run.attempts)
    return [
        ("runs accepted", len(course.accepted)),
        ("runs whose enqueue got no answer", len(course.history.keys() - course.accepted)),
        ("executions", len(course.executions)),
        ("executions whose end nobody saw", sum(execution.how is None for execution in course.executions)),
        ("runs succeeded", states["succeeded"]),
        ("runs failed", states["failed"]),
        ("runs cancelled", states["cancelled"]),
        ("cancels answered: cancelled, requested, finished", _answers(course)),
        ("runs that failed and then succeeded", _mended(course)),
        ("runs that ended out of time", sum(run.reason == "timed_out" for run in course.history.values())),
        ("attempts that raised", outcomes[FAILED]),
        ("attempts that snoozed", outcomes[SNOOZED]),
        ("attempts lost", outcomes[LOST]),
        ("attempts interrupted", outcomes[INTERRUPTED]),
    ]


def _answers(course) -> str:
    told = Counter(answer.told for answer in course.answers)
    return ", ".join(str(told[each]) for each in (CANCELLED, REQUESTED, FINISHED))


def _mended(course) -> int:
    succeeded = [run for run in course.history.values() if run.state == SUCCEEDED]
    return sum(any(attempt.outcome == FAILED for attempt in run.attempts) for run in succeeded)


def _harm(course) -> list[tuple[str, int]]:
    deeds = [(kind, course.deeds[kind]) for kind in [*HARM, *HARM_TO_SERVER] if kind in course.deeds]
    return [*deeds, ("kills (kill -9)", course.kills)]


def _evidence(folder: Path, run_id: int) -> list[str]:
    lines = (folder / "ledger").read_text().splitlines() if (folder / "ledger").exists() else []
    return [*history.rows(run_id), *(line for line in lines if line.split()[1] == str(run_id))]
