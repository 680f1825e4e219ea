"""Whether the most urgent run starts next, while others are being enqueued.

Run: python -m benchmarks.order [--quick] [--processes] [--db URL]

Eight threads enqueue runs of random priority while a worker works on them, twice as fast as it can. "Mixed" runs take
1 to 50 ms; of the "cheap" ones 19 in 20 take no time, so that the worker claims ahead, and one takes 50 ms, behind
which what was claimed ahead waits. Afterwards the recorded moments are swept (benchmarks/sweep.py). A run starts when
the worker's heap hands it to a thread; claimed before that, it still waits.

Out of turn is a start while a more urgent run waits whose enqueue had returned more than 50 ms before. Not FIFO is one
while a run of the same priority waits whose enqueue had returned when the other's was called, by whichever producer;
there nothing is tolerated.

Between three processes that work side by side it is the claims that must be in turn: out of turn, or not FIFO, is a
claim that took a run while one that comes before it was committed and free for the whole time (benchmarks/turns.py).
There nothing is tolerated either.

Also with a stop and a new start half way, and with a worker process that is killed half way and replaced: the runs that
the killed one held cannot be started by anybody until it counts as dead and their pause is over, so they do not count
as waiting meanwhile. Ends with status 1 if anything was out of turn, lost, or run twice without such a loss.
"""

import sys
from bisect import bisect
from collections.abc import Sequence

from benchmarks import handouts, report, site
from benchmarks.order_cases import (
    CHEAP,
    LONG,
    MIXED,
    Case,
    absences,
    in_a_process_of_its_own,
    in_this_process,
    in_three_processes,
    observe,
)
from benchmarks.sweep import Absence, Verdict, sweep
from benchmarks.turns import claimed
from benchmarks.turns import out_of_turn as claims_out_of_turn

TOLERANCE = 50_000_000

CASES = (
    Case("same process", in_this_process, MIXED, 2_000),
    Case("same process, cheap", in_this_process, CHEAP, 10_000),
    Case("stopped and started again", in_this_process, MIXED, 2_000, has_half_way=True),
    Case("process of its own", in_a_process_of_its_own, MIXED, 2_000),
    Case("process of its own, cheap", in_a_process_of_its_own, CHEAP, 10_000),
    Case("killed and replaced", in_a_process_of_its_own, MIXED, 2_000, has_half_way=True),
    Case("killed and replaced, cheap", in_a_process_of_its_own, CHEAP, 10_000, has_half_way=True),
    Case("three processes", in_three_processes, LONG, 3_000, processes=3, threads=(2,)),
)
COUNTS = ("out of turn", "not FIFO", "lost or twice")
COLUMNS = ("worker", "threads", "starts", "most waiting", *COUNTS, "worst ms", "by first line", "delay ms", "stall ms")

EXPLANATION = f"""Out of turn: the more urgent run's enqueue had returned more than {TOLERANCE / 1e6:.0f} ms before.
Worst ms: the longest time for which a run had waited when a less urgent one was started.
By first line: starts out of turn if a run started at its function's first line; two that were handed to two threads
in order may get there in another order, because the interpreter runs one thread at a time.
Delay: the longest time in ms from a hand-out to that first line.
Stall: for how many ms a thread that only sleeps was held up; the machine does the same to a worker."""


def wrong_starts(count: int, starts: Sequence[tuple[int, int]], lost: Sequence[Absence]) -> int:
    """How many runs did not succeed, or started another number of times than their history explains."""
    from jobs.models import Run

    expected = dict.fromkeys(range(count), 1)
    for absence in lost:
        expected[absence.number] += any(number == absence.number and at < absence.since for number, at in starts)
    for number, _ in starts:
        expected[number] -= 1
    return sum(map(bool, expected.values())) + count - Run.objects.filter(state="succeeded").count()


def out_of_turn(verdict: Verdict) -> int:
    return sum(lateness > TOLERANCE for lateness in verdict.by_priority)


def first_line_delay(starts: Sequence[tuple[int, int]], handed_out: Sequence[tuple[int, int]]) -> int:
    """The longest time from a hand-out to the first line of the function, in nanoseconds."""
    lines = sorted((number, at) for number, at in starts)
    delays = []
    for number, at in handed_out:
        place = bisect(lines, (number, at))
        if place < len(lines) and lines[place][0] == number:
            delays.append(lines[place][1] - at)
    return max(delays)


def examine(case: Case, threads: int, count: int) -> tuple[tuple, list[Absence]]:
    """The row of the table for one case, and the runs that were lost with a worker."""
    seen = observe(case, threads, count)
    lost = absences(seen.killed_at) if seen.killed_at else []
    starts, handed_out = site.starts(), site.starts("handouts")
    verdict = sweep(seen.enqueued, handed_out, lost)
    is_one = case.processes == 1
    row = (
        case.name,
        threads,
        f"{verdict.starts:,}",
        f"{verdict.most_waiting:,}",
        out_of_turn(verdict) if is_one else len(claims_out_of_turn(seen.ready, claimed(site.directory() / "claims"))),
        len(verdict.in_priority) if is_one else "",  # is counted with those out of turn
        wrong_starts(count, starts, lost),
        f"{max(verdict.by_priority, default=0) / 1e6:.1f}" if is_one else "",
        out_of_turn(sweep(seen.enqueued, starts, lost)) if is_one else "",
        f"{first_line_delay(starts, handed_out) / 1e6:.1f}",
        f"{seen.stall / 1e6:.1f}",
    )
    return row, lost


def main() -> int:
    given = report.options(
        "Starts out of turn.",
        has_db=True,
        busy="let the functions compute instead of sleep",
        processes="only the case with several processes",
    )
    site.setup()
    handouts.install()
    report.heading("Order", given)
    rows, all_lost = [], []
    for case in (case for case in CASES if case.processes > 1 or not given.processes):
        case.busy = given.busy
        for threads in case.threads:
            count = case.count // 5 if given.quick else case.count
            report.progress(f"{case.name}, {threads} threads, {count:,} runs")
            row, lost = examine(case, threads, count)
            rows.append(row)
            all_lost += lost
    report.done()
    report.table(COLUMNS, rows)
    print(EXPLANATION)
    if all_lost:
        longest = max(absence.until - absence.since for absence in all_lost) / 1e9
        print(f"The killed workers held {len(all_lost)} runs; they could start again at most {longest:.1f} s later.")
    return int(any(row[COLUMNS.index(count)] for row in rows for count in COUNTS))


if __name__ == "__main__":
    sys.exit(main())
