"""What a worker costs that has nothing to do. Run: python -m benchmarks.idle [--quick] [--db URL]

CPU time of all threads of the process over a minute, in percent of one core. gunicorn is measured with and without a
scheduler in its worker process: it looks after that process once a second by itself. Linux only, where the CPU clock
of another process can be read.
"""

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from subprocess import STDOUT

from benchmarks import report, site

SETTLE_SECONDS = 3.0


def cpu_seconds(pid: int) -> float:
    """The CPU clock of another process, as clock_getcpuclockid() names it on Linux."""
    return time.clock_gettime((~pid << 3) | 2)


def percent(pid: int, seconds: float) -> float:
    before, began = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - began) * 100


def runscheduler(threads: int, seconds: float, prepare: Callable[[], object] = lambda: None) -> float:
    """Of a worker that begins with what `prepare` has stored."""
    site.fresh()
    prepare()
    with site.runscheduler(threads=threads) as worker:
        _settle(1)
        return percent(worker.pid, seconds)


def gunicorn(has_scheduler: bool, seconds: float) -> float:
    """Of gunicorn's one worker process, which loads the site and serves it."""
    site.fresh()
    arguments = ("gunicorn", "--bind=127.0.0.1:0", "--workers=1", "--worker-class=gthread", "--threads=4")
    application = "django.core.wsgi:get_wsgi_application()"
    with site.process(*arguments, application, jobs={"AUTOSTART": has_scheduler}, stderr=STDOUT) as arbiter:
        _settle(int(has_scheduler))
        return percent(_only_child(arbiter.pid), seconds)


def _settle(workers: int) -> None:
    """The start must not count; and who has no scheduler must have had the time to start one by mistake."""
    site.wait_for_workers(workers)
    time.sleep(SETTLE_SECONDS)
    site.wait_for_workers(workers)


def _only_child(pid: int) -> int:
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        (child,) = children.read().split()
    return int(child)


def main() -> None:
    given = report.options("Percent of a core that an idle worker takes.", rounds=3, has_db=True)
    if sys.platform != "linux":
        sys.exit("This benchmark reads the CPU clocks of other processes, which needs Linux.")
    site.setup()
    report.heading("Idle", given)
    seconds = 10.0 if given.quick else 60.0
    cases = [
        ("runscheduler, 1 thread", lambda: runscheduler(1, seconds)),
        ("runscheduler, 4 threads", lambda: runscheduler(4, seconds)),
    ]
    if find_spec("gunicorn"):
        cases.append(("gunicorn with a scheduler", lambda: gunicorn(True, seconds)))
        cases.append(("gunicorn without", lambda: gunicorn(False, seconds)))
    taken = {name: [] for name, _ in cases}
    for number in range(given.rounds):
        for name, measure in cases:
            report.progress(f"round {number + 1} of {given.rounds}: {name}, {seconds:g} s")
            taken[name].append(measure())
    report.done()
    report.table(
        ("process", "percent of a core (least - greatest)"), [(name, report.spread(v, 2)) for name, v in taken.items()]
    )


if __name__ == "__main__":
    main()
