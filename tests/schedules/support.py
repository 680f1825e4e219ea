"""Schedules on a clock that a test moves, fired as a dispatcher does."""

from datetime import UTC, datetime, timedelta

from django.db import transaction

from jobs.core import clock as clocks
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.fire import BATCH, fire
from jobs.lifecycle.planning import edited, replan
from jobs.models import Job, Run, Schedule
from jobs.runtime.dispatcher import Dispatcher


def utc(text: str) -> datetime:
    """An ISO time without an offset, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def a_job(**columns) -> Job:
    return Job.objects.create(**{"name": f"job {Job.objects.count()}", "task": "tests.tasks.lifecycle_add",
                                 "arguments_json": '{"a": 1}'} | columns)  # fmt: skip


def a_schedule(expression: str = "* * * * *", *, job: Job | None = None, **columns) -> Schedule:
    return Schedule.objects.create(**{"job": job or a_job(), "kind": "cron", "expression": expression} | columns)


def every(seconds: float, *, job: Job | None = None, **columns) -> Schedule:
    """An interval counted from now."""
    rule = {"kind": "interval", "interval_seconds": seconds, "anchor_at": clocks.now()}
    return Schedule.objects.create(**{"job": job or a_job()} | rule | columns)


def look() -> int:
    """Do what a dispatcher does: notice edits, fire what is due; how many schedules had a slot."""
    fired = 0
    while True:
        with transaction.atomic(using=alias()):
            replan(connection(), edited(connection()), clocks.now())
            count = fire(connection(), clocks.now())
        fired += count
        if count < BATCH:
            return fired


def live(clock, until: datetime, step: timedelta) -> None:
    """Let the time pass with a look at each step."""
    while clock.now() < until:
        clock.move(step.total_seconds())
        look()


def slots(schedule: Schedule, **conditions) -> list[str]:
    """The times of its runs, those that were skipped left out."""
    runs = Run.objects.filter(schedule_id=schedule.pk, **conditions).exclude(state="skipped")
    return [f"{run.scheduled_for:%m-%dT%H:%M:%S}" for run in runs.order_by("scheduled_for")]


def skipped(schedule: Schedule) -> list[tuple[str, int]]:
    """Why slots were not run, and how many."""
    runs = Run.objects.filter(schedule_id=schedule.pk, state="skipped").order_by("pk")
    return [(run.reason_code, run.reason_arguments["count"]) for run in runs]


def end_runs(schedule: Schedule) -> None:
    """All its runs have succeeded."""
    unfinished = Run.objects.filter(schedule_id=schedule.pk).exclude(state="skipped")
    unfinished.update(state="succeeded", finished_at=clocks.now(), unique_hash=None)


def counted(schedule: Schedule) -> int:
    """How many of its slots were not run, by the rows that tell of them."""
    return sum(count for _, count in skipped(schedule))


def sql(statement: str, *values) -> None:
    """What somebody does to the database by hand."""
    with connection().cursor() as cursor:
        cursor.execute(statement, values)


def stored_moment(moment: datetime) -> str:
    """A moment as the columns have it, on every database."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def settle(*dispatchers: Dispatcher) -> None:
    """Everything that there is to do at this moment: fire, claim, run and write it. Functions end at once."""
    for _ in range(1000):
        for dispatcher in dispatchers:
            while dispatcher.executor.waiting:
                dispatcher.executor.run_one()
        did_something = [dispatcher.cycle() for dispatcher in dispatchers]  # each has its turn
        if not any(did_something):
            return
    raise AssertionError("there is always something to do")


def drive(clock, seconds: float, *dispatchers: Dispatcher, step: float = 1.0) -> None:
    """Let time pass while dispatchers, whose executors are by hand, look once a step."""
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        clock.move(min(step, end - clock.monotonic()))
        settle(*dispatchers)


def step(clock, dispatcher: Dispatcher, seconds: float) -> None:
    """Let time pass, second by second, while functions that work go on working and none begins."""
    for _ in range(int(seconds)):
        clock.move(1)
        while dispatcher.cycle():
            pass


def runs(schedule: Schedule, *columns: str) -> list[tuple]:
    """What its rows hold, in the order of their slots; of several skipped ones the last counts."""
    return list(Run.objects.filter(schedule_id=schedule.pk).order_by("scheduled_for", "pk").values_list(*columns))


def states(schedule: Schedule) -> list[str]:
    return [state for (state,) in runs(schedule, "state")]


def loud(caplog) -> list[str]:
    """What was logged above INFO."""
    return [record.getMessage() for record in caplog.records if record.levelname != "INFO"]
