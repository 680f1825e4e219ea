"""What 5,000 schedules cost. Run: python -m benchmarks.schedules [--quick] [--db URL]

CPU time of all threads of a worker with four threads, in percent of one core: with no schedule, with schedules that are
not due, and with schedules that fire. What fires also executes its runs, so the same number of delayed runs, which are
promoted and executed at the same times, stands beside it: the difference is what the firing costs. Then single steps:
the look for edits, and one slot. Linux only, as `benchmarks.idle`.
"""

import sys
import time
from datetime import timedelta

from benchmarks import report, site
from benchmarks.idle import runscheduler

COUNT = 5_000
EVERY = timedelta(hours=1)


def make_schedules(count: int, every: timedelta, first_in: timedelta) -> None:
    """Schedules whose slots are spread evenly over the interval, the first one in so long from now."""
    from jobs.core import clock
    from jobs.models import Job, Schedule

    now = clock.now()
    job = Job.objects.create(name="note", task="benchmarks.tasks.note", arguments_json='{"number":0}')
    schedules = []
    for place in range(count):
        anchor = now + first_in + every * place / count
        schedule = Schedule(
            job=job, kind="interval", interval_seconds=every.total_seconds(), anchor_at=anchor, starts_at=anchor
        )
        schedule.plan(now)
        schedules.append(schedule)
    Schedule.objects.bulk_create(schedules, batch_size=500)


def make_delayed_runs(count: int, every: timedelta, first_in: timedelta, seconds: float) -> None:
    """Runs that are due when the slots of so many schedules would be, for so many seconds."""
    from benchmarks.tasks import note
    from jobs.core import clock

    now, step = clock.now(), every / count
    for place in range(int(timedelta(seconds=seconds) / step) + 1):
        note.using(run_after=now + first_in + place * step).enqueue(place)


def cases(count: int, seconds: float):
    begin, far = timedelta(seconds=1), timedelta(days=3)
    whole = seconds + 30  # with what the start of the worker takes
    return [
        ("no schedule", lambda: None),
        (f"{count:,} schedules, none due", lambda: make_schedules(count, EVERY, far)),
        (f"{count:,} hourly schedules", lambda: make_schedules(count, EVERY, begin)),
        ("as many delayed runs", lambda: make_delayed_runs(count, EVERY, begin, whole)),
    ]


def steps(count: int) -> list[tuple[str, float]]:
    """Milliseconds of single steps, in this process."""
    from django.db import connection, transaction

    from jobs.core import clock
    from jobs.lifecycle.fire import fire
    from jobs.lifecycle.planning import edited

    site.fresh()
    make_schedules(count, EVERY, timedelta(0))
    known: dict[int, tuple] = {}
    looks = []
    for _ in range(2):
        begin = time.perf_counter()
        edited(connection, known)
        looks.append(time.perf_counter() - begin)
    fired, now, begin = 0, clock.now() + EVERY * 0.9, time.perf_counter()
    while fired < count // 5:  # each has one slot
        with transaction.atomic():
            fired += fire(connection, now)
    slot = (time.perf_counter() - begin) / fired
    return [
        ("first look for edits, all schedules", 1000 * looks[0]),
        ("every other look", 1000 * looks[1]),
        ("fire one slot", 1000 * slot),
    ]


def main() -> None:
    given = report.options("What schedules cost.", rounds=3, has_db=True)
    if sys.platform != "linux":
        sys.exit("This benchmark reads the CPU clocks of other processes, which needs Linux.")
    site.setup()
    report.heading("Schedules", given)
    count, seconds = (500, 5.0) if given.quick else (COUNT, 60.0)
    taken = {name: [] for name, _ in cases(count, seconds)}
    alone = {}
    for number in range(given.rounds):
        for name, prepare in cases(count, seconds):
            report.progress(f"round {number + 1} of {given.rounds}: {name}, {seconds:g} s")
            taken[name].append(runscheduler(4, seconds, prepare))
        for name, value in steps(count):
            alone.setdefault(name, []).append(value)
    report.done()
    report.table(
        ("worker", "percent of a core (least - greatest)"), [(name, report.spread(v, 2)) for name, v in taken.items()]
    )
    report.table(("step", "ms (least - greatest)"), [(name, report.spread(v, 2)) for name, v in alone.items()])


if __name__ == "__main__":
    main()
