"""How soon an idle worker starts what is enqueued. Run: python -m benchmarks.handoff [--quick] [--db URL]

From the return of `enqueue()` to the first line of the function, with a worker that has been idle for two seconds.
Warm: one run every 200 ms. Cold: one every 2.5 s, by when the worker looks less often. In the same process the worker
is woken by the commit inside `enqueue()`, so that the function may start before it returns; the time from the call of
`enqueue()` is therefore shown as well.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks import report, site

IDLE_SECONDS = 2.0
WARM_SECONDS, COLD_SECONDS = 0.2, 2.5


@contextmanager
def same_process() -> Iterator[None]:
    from jobs.runtime import scheduler

    scheduler.start(kind="benchmark", threads=1)
    try:
        yield
    finally:
        scheduler.stop()


def hand_over(worker, pause: float, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds from the call and from the return of each enqueue to the start."""
    from benchmarks.tasks import note

    site.fresh()
    called, returned = [], []
    with worker:
        note.enqueue(count)  # so that nothing is done for the first time
        site.wait_until(site.all_finished, seconds=30, what="the first run finished")
        time.sleep(IDLE_SECONDS - pause if pause < IDLE_SECONDS else 0)
        for number in range(count):
            time.sleep(pause)
            called.append(time.monotonic_ns())
            note.enqueue(number)
            returned.append(time.monotonic_ns())
        site.wait_until(site.all_finished, seconds=30, what="all runs finished")
    site.check_each_ran_once(count + 1)
    started = dict(site.starts())
    return tuple([(started[i] - at) / 1e6 for i, at in enumerate(times)] for times in (called, returned))


def main() -> None:
    given = report.options("Milliseconds from enqueue to start.", has_db=True)
    site.setup()
    report.heading("Hand-off", given)
    warm, cold = (30, 4) if given.quick else (100, 30)
    cases = (
        ("same process", lambda: same_process(), WARM_SECONDS, warm),
        ("other process, warm", lambda: site.runscheduler(threads=1), WARM_SECONDS, warm),
        ("other process, cold", lambda: site.runscheduler(threads=1), COLD_SECONDS, cold),
    )
    rows = []
    for name, make_worker, pause, count in cases:
        report.progress(f"{name}: {count} runs, one every {pause} s")
        called, returned = hand_over(make_worker(), pause, count)
        percentiles = [report.percentile(times, p) for times in (returned, called) for p in (50, 95)]
        rows.append((name, count, *(f"{value:.1f}" for value in (*percentiles, max(returned)))))
    report.done()
    report.table(("worker", "runs", "p50 ms", "p95 ms", "p50 from the call", "p95", "longest"), rows)


if __name__ == "__main__":
    main()
