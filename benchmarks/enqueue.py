"""How fast runs are stored, one by one and in bulk. Run: python -m benchmarks.enqueue [--quick] [--db URL]

One process, autocommit, warm, no worker. `enqueue()` and `Run.objects.create()` of the same row take turns of a hundred
rows in one table, so that a change of the machine's mood meets both alike; the ratio is taken turn by turn. create()
gets its values for nothing; enqueue() checks the parameters, makes the row and prepares the wake-up.
"""

from collections.abc import Callable
from statistics import median
from time import perf_counter

from benchmarks import report, site

TURN = 100


def rate(count: int, call: Callable[[], object], rows: int = 1) -> float:
    """Rows a second over `count` calls."""
    began = perf_counter()
    for _ in range(count):
        call()
    return count * rows / (perf_counter() - began)


def one_by_one(turns: int) -> dict[str, list[float]]:
    from benchmarks.tasks import note
    from jobs.lifecycle.insert import COLUMNS
    from jobs.models import Run

    site.fresh()
    sample = note.enqueue(0)
    values = {column: getattr(sample, column) for column in COLUMNS}
    rates = {"enqueue()": [], "Run.objects.create()": []}
    for turn in range(-1, turns):
        measured = {
            "enqueue()": rate(TURN, lambda: note.enqueue(1)),
            "Run.objects.create()": rate(TURN, lambda: Run.objects.create(**values)),
        }
        if turn >= 0:  # the first turn warms up
            for name, value in measured.items():
                rates[name].append(value)
    return rates


def bulk(size: int, calls: int) -> list[float]:
    from benchmarks.tasks import note

    site.fresh()
    parameters = [{"number": number} for number in range(size)]
    note.enqueue_many(parameters[:10])
    return [rate(1, lambda: note.enqueue_many(parameters), rows=size) for _ in range(calls)]


def main() -> None:
    given = report.options("Rows stored per second.", rounds=5, has_db=True)
    site.setup()
    report.heading("Enqueue", given)
    turns = 5 if given.quick else 20
    singles, ratios, many = {}, [], {100: [], 1_000: [], 10_000: []}
    for number in range(given.rounds):
        report.progress(f"round {number + 1} of {given.rounds}")
        rates = one_by_one(turns)
        for name, values in rates.items():
            singles.setdefault(name, []).append(median(values))
        ratios.append(median(ours / plain for ours, plain in zip(*rates.values(), strict=True)))
        for size, values in many.items():
            values.append(median(bulk(size, 20_000 // size // (10 if size < 10_000 and given.quick else 1))))
    report.done()
    rows = [(name, report.spread(values)) for name, values in singles.items()]
    rows += [(f"enqueue_many() of {size:,}", report.spread(values)) for size, values in many.items()]
    report.table(("", "rows/s, median (least - greatest)"), rows)
    print(f"enqueue() to create(): {report.spread(ratios, 2)} times as fast, over {given.rounds} rounds")


if __name__ == "__main__":
    main()
