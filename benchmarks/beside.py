"""What the site's own pages feel of a worker at full speed. Run: python -m benchmarks.beside [--quick]

Twenty times a second a request reads a row and then writes it, in one transaction through the ORM, while a worker
process drains no-op runs from the same SQLite file. Its time counts from the moment it was due, so that one that waits
for the one before is not spared. The same without a worker shows what the page takes by itself.
"""

import time
from collections.abc import Callable

from benchmarks import report, site
from benchmarks.drain import fill

EVERY_SECONDS = 0.05
ALONE_SECONDS = 5.0


def visit(page_id: int) -> None:
    """The view."""
    from django.db import transaction

    from benchmarks.models import Page

    with transaction.atomic():
        page = Page.objects.get(pk=page_id)
        page.views += 1
        page.save()


def visits(is_over: Callable[[], bool]) -> tuple[list[float], int]:
    """Milliseconds of each request until `is_over`, and how many failed."""
    from django.db import DatabaseError

    from benchmarks.models import Page

    page = Page.objects.create(title="visited")
    taken, errors, due = [], 0, time.monotonic()
    while not is_over():
        try:
            visit(page.pk)
        except DatabaseError as error:
            errors += 1
            report.progress(f"{type(error).__name__}: {error}")
        taken.append((time.monotonic() - due) * 1000)
        due += EVERY_SECONDS
        time.sleep(max(0.0, due - time.monotonic()))
    return taken, errors


def alone() -> tuple[list[float], int, float]:
    site.fresh()
    end = time.monotonic() + ALONE_SECONDS
    return *visits(lambda: time.monotonic() > end), 0.0


def beside_a_drain(count: int, threads: int) -> tuple[list[float], int, float]:
    """Milliseconds of the requests, how many failed, and the runs per second meanwhile."""
    fill(count)
    with site.runscheduler(threads=threads):
        site.wait_until(lambda: site.count_starts() > 0, seconds=30, what="the first run started", step=0.01)
        taken, errors = visits(lambda: site.count_starts() >= count)
        site.wait_until(site.all_finished, seconds=60, what="all runs finished")
    site.check_each_ran_once(count)
    times = [at for _, at in site.starts()]
    return taken, errors, count / (max(times) - min(times)) * 1e9


def row(name: str, rounds: list[tuple[list[float], int, float]]) -> tuple:
    """All requests of all rounds together: a percentile needs many."""
    taken = [each for times, _, _ in rounds for each in times]
    errors = sum(failed for _, failed, _ in rounds)
    figures = (report.percentile(taken, 50), report.percentile(taken, 99), max(taken))
    rates = [rate for *_, rate in rounds if rate]
    return name, len(taken), errors, *(f"{value:.1f}" for value in figures), report.spread(rates) if rates else ""


def main() -> None:
    given = report.options("Milliseconds of a page beside a worker.", rounds=3)
    site.setup()
    report.heading("Beside", given)
    count = 20_000 if given.quick else 150_000
    cases = {
        "no worker": alone,
        "drain, 1 thread": lambda: beside_a_drain(count, 1),
        "drain, 4 threads": lambda: beside_a_drain(count, 4),
    }
    rounds = {name: [] for name in cases}
    for number in range(given.rounds):
        for name, measure in cases.items():
            report.progress(f"round {number + 1} of {given.rounds}: {name}, {count:,} runs")
            rounds[name].append(measure())
    report.done()
    rows = [row(name, measured) for name, measured in rounds.items()]
    report.table(("beside", "requests", "errors", "p50 ms", "p99 ms", "longest", "runs/s (least - greatest)"), rows)


if __name__ == "__main__":
    main()
