"""Many processes look at the same schedules: each slot becomes one run, whoever lives and whoever dies."""

import os
from datetime import timedelta

from jobs.core import clock
from jobs.models import Job, Run, Schedule, Worker
from tests.processes.support import PATIENCE
from tests.processes.test_servers import gunicorn
from tests.runtime.support import wait_until

LENGTH = timedelta(seconds=60 if os.environ.get("JOBS_TEST_MILLION") else 8)


def every_second(length: timedelta, **columns) -> Schedule:
    job = Job.objects.create(name="every second", task="tests.tasks.runtime_mark")
    begin = clock.now().replace(microsecond=0) + timedelta(seconds=1)
    rule = {"kind": "interval", "interval_seconds": 1, "anchor_at": begin, "ends_at": begin + length}
    return Schedule.objects.create(job=job, overlap="allow", **rule | columns)


def expected(schedule: Schedule) -> list:
    return list(schedule.recurrence.after(schedule.anchor_at - timedelta(seconds=1)))


def wait_for_the_end(schedule: Schedule) -> None:
    def is_over():
        schedule.refresh_from_db()
        return schedule.next_slot_at is None and not Run.objects.exclude(state="succeeded").exists()

    wait_until(is_over, PATIENCE + LENGTH.total_seconds())


def slots() -> list:
    return list(Run.objects.order_by("slot").values_list("slot", flat=True))


def test_six_processes_make_one_run_of_each_slot(site):
    server = gunicorn(site, "--workers", "4")
    others = [site.runscheduler("--threads", "2") for _ in range(2)]
    wait_until(lambda: Worker.objects.filter(state="alive").count() == 6, PATIENCE)
    schedule = every_second(LENGTH)
    wait_for_the_end(schedule)
    assert slots() == expected(schedule)
    assert set(site.executions().values()) == {1}
    assert len(site.executions()) == LENGTH.total_seconds() + 1
    for process in [server, *others]:  # who comes too late says nothing
        assert "ERROR" not in process.output
        assert "WARNING" not in process.output


def test_when_one_is_killed_the_others_go_on(site):
    processes = [site.runscheduler("--threads", "2") for _ in range(2)]
    schedule = every_second(timedelta(seconds=6))
    wait_until(lambda: Run.objects.filter(state="succeeded").count() >= 2, PATIENCE)
    processes[0].kill()
    wait_for_the_end(schedule)
    assert slots() == expected(schedule)


def test_an_edit_by_sql_reaches_a_scheduler_that_works(site):
    site.runscheduler("--threads", "2")
    schedule = every_second(timedelta(hours=10), interval_seconds=3600)
    Schedule.objects.filter(pk=schedule.pk).update(interval_seconds=1)
    wait_until(lambda: Run.objects.filter(state="succeeded").count() >= 2, PATIENCE)
    Schedule.objects.filter(pk=schedule.pk).update(is_enabled=False)
    wait_until(lambda: Schedule.objects.filter(next_slot_at=None), PATIENCE)
