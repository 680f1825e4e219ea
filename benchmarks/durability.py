"""What survival of a power failure costs on SQLite. Run: python -m benchmarks.durability [--quick]

`synchronous=FULL` waits for the disk at each commit, NORMAL at each checkpoint only. Enqueue one by one is a commit for
each run; a drain of no-op runs shares its commits. Both settings take turns. How long a disk takes differs from machine
to machine by a factor of a hundred: measure on yours.
"""

import os
from statistics import median

from benchmarks import report, site
from benchmarks.drain import drain
from benchmarks.enqueue import rate

LEVELS = ("NORMAL", "FULL")


def use(level: str) -> None:
    """In this process and in those that it starts."""
    from django.db import connection

    os.environ["BENCHMARKS_SYNCHRONOUS"] = level
    connection.close()
    connection.settings_dict["OPTIONS"]["init_command"] = f"PRAGMA journal_mode=WAL; PRAGMA synchronous={level};"


def measure(level: str, count: int) -> dict[str, float]:
    from benchmarks.tasks import note

    use(level)
    site.fresh()
    note.enqueue(0)
    return {
        "enqueue() one by one": rate(count // 10, lambda: note.enqueue(1)),
        "drain, 1 thread": drain(count, "--threads=1"),
        "drain, 1 thread, without look-ahead": drain(count // 4, "--threads=1", "--look-ahead=0"),
    }


def main() -> None:
    given = report.options("What synchronous=FULL costs.", rounds=5)
    site.setup()
    report.heading("Durability", given)
    count = 2_000 if given.quick else 10_000
    rates: dict[str, dict[str, list[float]]] = {}
    for number in range(given.rounds):
        for level in LEVELS:
            report.progress(f"round {number + 1} of {given.rounds}: {level}")
            for what, value in measure(level, count).items():
                rates.setdefault(what, {}).setdefault(level, []).append(value)
    report.done()
    rows = [
        (what, *(report.spread(each[level]) for level in LEVELS), f"{_ratio(each):.2f}") for what, each in rates.items()
    ]
    report.table(("runs/s", *LEVELS, "FULL to NORMAL"), rows)


def _ratio(rates: dict[str, list[float]]) -> float:
    return median(full / normal for full, normal in zip(rates["FULL"], rates["NORMAL"], strict=True))


if __name__ == "__main__":
    main()
