"""How fast a worker works off what waits. Run: python -m benchmarks.drain [--quick] [--profile] [--db URL]

No-op runs (each writes one line), all enqueued first, then one worker process: runs divided by the time from the first
start to the last. Done means: started, and afterwards stored as succeeded with its times, checked for every run. The
same once more with the look-ahead off, so that a worker claims for idle threads only. The ways take turns.
"""

import json
from statistics import median

from benchmarks import report, site

THREADS = (1, 4)
CHUNK = 1_000


def fill(count: int) -> None:
    from benchmarks.tasks import note

    site.fresh()
    for start in range(0, count, CHUNK):
        note.enqueue_many([{"number": number} for number in range(start, min(start + CHUNK, count))])


def drain(count: int, *arguments: str) -> float:
    """Runs a second of a worker process with these arguments."""
    fill(count)
    with site.process("benchmarks.worker", *arguments):
        site.wait_until(lambda: site.count_starts() >= count, seconds=600, what=f"{count} runs started", step=0.25)
        site.wait_until(site.all_finished, seconds=60, what="all runs finished")
    site.check_each_ran_once(count)
    times = [at for _, at in site.starts()]
    return count / (max(times) - min(times)) * 1e9


def measure(count: int, rounds: int) -> None:
    rates = {}
    for number in range(rounds):
        for threads in THREADS:
            for name, knob in (("on", ()), ("off", ("--look-ahead=0",))):
                report.progress(f"round {number + 1} of {rounds}: {threads} threads, look-ahead {name}")
                rates.setdefault((threads, name), []).append(drain(count, f"--threads={threads}", *knob))
    report.done()
    rows = [
        (threads, report.spread(rates[threads, "on"]), report.spread(rates[threads, "off"]), _gain(rates, threads))
        for threads in THREADS
    ]
    report.table(("threads", "runs/s", "without look-ahead", "gain"), rows)
    print(f"{count:,} runs each, {rounds} rounds; median (least - greatest)")


def _gain(rates: dict, threads: int) -> str:
    return f"{median(on / off for on, off in zip(rates[threads, 'on'], rates[threads, 'off'], strict=True)):.1f}x"


def profile(count: int) -> None:
    """Where the time goes, per run, by step; slower than a drain without stopwatches."""
    for threads in THREADS:
        path = site.directory() / "sections.json"
        rate = drain(count, f"--threads={threads}", f"--sections={path}")
        steps = json.loads(path.read_text())
        cycles = next(calls for _, name, calls, _, _ in steps if name == "COMMIT")
        rows = [
            (f"{thread}: {name}", f"{calls:,}", *(f"{seconds / count * 1e6:,.1f}" for seconds in (wall, cpu)))
            for thread, name, calls, wall, cpu in steps
        ]
        print(f"\nthreads={threads}: {rate:,.0f} runs/s under stopwatches, {count / cycles:.1f} runs a transaction")
        report.table(("step", "calls", "wall us/run", "CPU us/run"), rows)
        for thread in ("dispatcher", "threads"):
            cpu = sum(row[4] for row in steps if row[0] == thread)
            print(f"{thread}: {cpu / count * 1e6:.0f} us of CPU a run, {cpu * rate / count:.0%} of one core")
    print("\nThe waits count from the start of the process to its end, not only while runs were worked off.")


def main() -> None:
    given = report.options(
        "No-op runs worked off per second.", rounds=5, has_db=True, profile="say where the time goes instead"
    )
    site.setup()
    report.heading("Drain", given)
    count = 4_000 if given.quick else 20_000
    if given.profile:
        profile(count)
    else:
        measure(count, given.rounds)


if __name__ == "__main__":
    main()
