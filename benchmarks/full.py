"""Whether a worker gets slower in a full table. Run: python -m benchmarks.full [--quick]

The rate of the first 20,000 starts of a worker process, with nothing else in the table, and with a million runs beside
them that have finished, that wait behind them, or from which the most urgent have to be picked. With mixed priorities
the best runs lie scattered over the whole table, with one priority side by side. Unlike `benchmarks.claim` this holds
everything: claim, function, outcome, commit.
"""

from dataclasses import dataclass
from pathlib import Path

from benchmarks import report, site
from benchmarks.rows import Rows, database_with


@dataclass(frozen=True)
class Case:
    name: str
    rows: tuple[Rows, ...]


def cases(count: int, million: int) -> list[Case]:
    """Each with at least `count` runs to start."""
    return [
        Case("nothing", (Rows(count, levels=1),)),
        Case("nothing, mixed priorities", (Rows(count),)),
        Case(f"{million:,} finished", (Rows(million, state="succeeded"), Rows(count, levels=1))),
        Case(f"{million:,} waiting", (Rows(million, levels=1),)),
        Case(f"{million:,} waiting, mixed priorities", (Rows(million),)),
    ]


def rate(source: Path, count: int) -> float:
    """Runs a second over the first `count` starts."""
    site.fresh(source)
    with site.runscheduler(threads=1):
        site.wait_until(lambda: site.count_starts() >= count, seconds=600, what=f"{count:,} runs started")
    times = sorted(at for _, at in site.starts())[:count]
    return count / (times[-1] - times[0]) * 1e9


def main() -> None:
    given = report.options("Runs worked off per second in a full table.", rounds=3)
    site.setup()
    report.heading("Full table", given)
    count, million = (4_000, 100_000) if given.quick else (20_000, 1_000_000)
    sources = {}
    for case in cases(count, million):
        report.progress(f"filling: {case.name}")
        sources[case.name] = database_with(case.rows)
    rates = {name: [] for name in sources}
    for number in range(given.rounds):
        for name, source in sources.items():
            report.progress(f"round {number + 1} of {given.rounds}: {name}")
            rates[name].append(rate(source, count))
    report.done()
    report.table(("beside", "runs/s"), [(name, report.spread(values)) for name, values in rates.items()])
    print(f"The first {count:,} starts, one thread, {given.rounds} rounds; median (least - greatest)")


if __name__ == "__main__":
    main()
