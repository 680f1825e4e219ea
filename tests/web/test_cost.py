"""What the pages ask the database: as much for sixty rows as for ten, and nothing wide where nothing wide is shown."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.core import clock
from jobs.core.recurrence import Recurrence, recurrence
from jobs.core.states import State
from jobs.models import Job, Queue, Run, Schedule
from jobs.web import missed
from jobs.web.upcoming import MOST_ROWS
from tests.database import in_one_spelling, plan_of
from tests.web.support import failed_with, make_job, make_run, make_schedule, make_worker, url

FIELDS = [field for field in Schedule._meta.concrete_fields if not field.primary_key]
WIDE = ("arguments_json", "result_json", "options_json", "traceback", "jobs_runlog")


def fill(count: int, by) -> None:
    """So many rows of every kind, all around one job and one run."""
    job, first = Job.objects.order_by("pk").first(), Run.objects.order_by("pk").first()
    for number in range(count):
        make_job(f"Job {Job.objects.count()}")
        make_run(queue=f"q{number}", job_id=job.pk, by=by)
        make_run(State.RUNNING, progress_done=1.0, by=by, worker_id=make_worker().pk)
        failed_with("no", by=by, job_id=job.pk, rerun_of_id=first.pk)
        make_worker(state="dead")
        schedule = make_schedule(job, f"{number} * * * *", problem="" if number % 2 else "It has a cold.")
        make_run(State.SUCCEEDED, schedule_id=schedule.pk, slot=first.enqueued_at)
        make_run(State.SKIPPED, schedule_id=schedule.pk, reason_code="missed", scheduled_for=first.enqueued_at)
        make_run(State.SCHEDULED, due_at=first.enqueued_at + timedelta(hours=1))
        Queue.objects.get_or_create(name=f"q{Queue.objects.count()}", is_paused=bool(number % 2))
        first.attempts.create(number=number, outcome="lost", ended_at=first.enqueued_at, traceback="…")
        first.log_chunks.create(attempt=1, number=first.log_chunks.count(), text="…", written_at=first.enqueued_at)


# The most statements that a page may take, session and user among them.
MOST = {
    "dashboard": 12, "runs": 8, "run": 15, "run_live": 14, "run_log": 5, "run_json": 5, "run_edit": 6, "jobs": 7,
    "job": 10, "job_run": 6, "submit": 3, "submit_task": 5, "workers": 14, "status": 9, "health": 1, "upcoming": 9,
    "schedule_add": 4, "schedule_preview": 2, "schedule": 3, "schedule_delete": 3, "schedule_backfill": 3,
    "fire_times": 2,
}  # fmt: skip
OF_RUN, OF_JOB = ("run", "run_live", "run_log", "run_json", "run_edit"), ("job", "job_run", "schedule_add")
OF_SCHEDULE = ("schedule", "schedule_delete", "schedule_backfill")


def address_of(name: str, run, job) -> str:
    if name == "submit_task":
        return url(name, job.task)
    if name in OF_SCHEDULE:
        return url(name, job.schedules.order_by("pk").first().pk)
    query = {"kind": "cron", "expression": "@daily"} if name == "fire_times" else {}
    arguments = [run.pk] if name in OF_RUN else [job.pk] if name in OF_JOB else []
    return url(name, *arguments, **query)


def statements(client, address: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code in (200, 503)
    return [in_one_spelling(each["sql"]) for each in captured]


@pytest.mark.parametrize("permissions", ["all", "none"])
def test_no_page_asks_more_for_more_rows(person, operator, permissions):
    client = operator if permissions == "all" else person()
    job = make_job("First")
    schedule = make_schedule(job)
    run = failed_with("no", job_id=job.pk, by=client.user, schedule_id=schedule.pk)
    names = MOST if permissions == "all" else ("dashboard", "runs", "run", "run_live", "run_json")
    counts = []
    for count in (10, 50):
        fill(count, client.user)
        counts.append({name: len(statements(client, address_of(name, run, job))) for name in names})
    assert counts[0] == counts[1]
    too_many = {name: count for name, count in counts[1].items() if count > MOST[name]}
    assert not too_many


def test_lists_read_no_wide_column(operator):
    job = make_job("First")
    run = failed_with("no", job_id=job.pk)
    fill(3, operator.user)
    for name in ("dashboard", "runs", "jobs", "workers", "status", "health", "submit", "upcoming"):
        for statement in statements(operator, address_of(name, run, job)):
            assert not [column for column in WIDE if column in statement], name
    of_job = [each for each in statements(operator, url("job", job.pk)) if 'FROM "jobs_run"' in each]
    assert of_job
    assert not [column for column in WIDE for statement in of_job if column in statement]


def test_the_strips_of_all_jobs_take_one_statement(operator):
    make_job("First")
    make_run()
    fill(30, operator.user)
    asked = [each for each in statements(operator, url("jobs")) if "jobs_run " in each or '"jobs_run"' in each]
    assert len(asked) == 1


def test_no_page_counts_history(operator):
    """COUNT(*) over unfinished or recent rows only, each a range of an index."""
    job = make_job("First")
    run = make_run(State.FAILED, job_id=job.pk)
    make_schedule(job)
    fill(3, operator.user)
    for name in MOST:
        for statement in statements(operator, address_of(name, run, job)):
            if "COUNT(" in statement and "jobs_run" in statement:
                assert '"jobs_run"."state"' in statement, (name, statement)


def test_pages_of_jobs(operator):
    for number in range(60):
        make_job(f"Job {number:02}")
    first = operator.get(url("jobs")).content.decode()
    assert first.count(">Job ") == 25
    assert "page=2" in first
    assert operator.get(url("jobs", page=3)).content.decode().count(">Job ") == 10
    for page in ("0", "-1", "99", "x", "9" * 40, "१"):
        assert operator.get(url("jobs"), {"page": page}).status_code == 200
    found = operator.get(url("jobs", q="job 5")).content.decode()
    assert found.count(">Job 5") == 10
    assert ">Job 4" not in found


def test_upcoming_computes_no_more_for_five_thousand_schedules_than_it_shows(operator, monkeypatch):
    """A rule is read for those schedules only that are shown, and a dense one is not followed slot by slot."""
    job = make_job("First")
    one = make_schedule(job, "* * * * *")
    copies = [Schedule(**{field.attname: getattr(one, field.attname) for field in FIELDS}) for _ in range(4999)]
    Schedule.objects.bulk_create(copies)
    read, slots = [], []
    after = Recurrence.after
    monkeypatch.setattr(Schedule, "recurrence", property(lambda schedule: read.append(schedule) or one_rule))
    monkeypatch.setattr(
        Recurrence, "after", lambda rule, moment: (slots.append(at) or at for at in after(rule, moment))
    )
    one_rule = recurrence("cron", expression="* * * * *")
    response = operator.get(url("upcoming"))
    assert "4960 more have a time in the next 24 hours." in response.content.decode()
    assert len(read) == MOST_ROWS
    assert len(slots) < 30 * MOST_ROWS


def test_what_was_skipped_lately_is_looked_through_no_further_than_a_window(operator, monkeypatch):
    monkeypatch.setattr(missed, "WINDOW", 5)
    make_run(State.SKIPPED, reason_code="missed", job_name="Far behind", finished_at=clock.now() - timedelta(days=1))
    for _ in range(5):
        make_run(State.SKIPPED, reason_code="deadline_passed")
    assert "Far behind" not in operator.get(url("upcoming")).content.decode()


CONDITIONS = {
    "jobs_schedule_look": '"look_at" <=',
    "jobs_run_finished": """"state" = 'skipped'""",
    "jobs_run_due": """"state" = 'scheduled'""",
}


@pytest.mark.parametrize("index", CONDITIONS)
def test_upcoming_follows_an_index(operator, index):
    if connection.vendor == "mysql" and index == "jobs_schedule_look":
        pytest.skip("MariaDB reads all schedules, job by job, and sorts them: 8 ms for 5,000")
    make_job("First")
    make_run()
    fill(3, operator.user)
    with CaptureQueriesContext(connection) as captured:
        operator.get(url("upcoming"))
    lists = [each["sql"] for each in captured if "LIMIT" in each["sql"]]
    found = [each for each in lists if CONDITIONS[index] in in_one_spelling(each)]
    assert found
    for statement in found:
        assert index in plan_of(statement).indexes, statement
