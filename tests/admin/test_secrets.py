"""Secrets in parameters and errors reach no page and no log of the admin (case W5)."""

import json
import logging

import pytest

import jobs
from jobs.core.states import State
from jobs.models import AuditEntry, Job, Run, Schedule
from jobs.parameters import loads
from jobs.registry import registry
from jobs.testing import drain
from tests.admin.support import act, filled_in, make_schedule, page, url

SECRETS = {"password": "S3CR3T-1", "token": "S3CR3T-2", "data": {"api_key": "S3CR3T-3", "plain": "visible"}}


@pytest.fixture
def task():
    def func(password: str, token: str, data: dict):
        password = "S3CR3T-4"  # noqa: F841 - a local variable that a traceback could show
        raise ValueError("plainly said")

    yield jobs.register(func, name="tests.admin.raises")
    registry.discard("tests.admin.raises")


@pytest.fixture
def job(db, task) -> Job:
    return Job.objects.create(name="With secrets", task=task.name, arguments_json=json.dumps(SECRETS))


@pytest.fixture
def run(admin_client, job) -> Run:
    """A failed run, and everything that an operator does on the way to it and after it."""
    admin_client.post(url("job", "change", job.pk), filled_in(page(admin_client, url("job", "change", job.pk))))
    changed = filled_in(page(admin_client, url("job", "change", job.pk))) | {"parameter-token": "S3CR3T-2b"}
    admin_client.post(url("job", "change", job.pk), changed)
    act(admin_client, "job", "run_now", job)
    drain()
    run = Run.objects.get()
    assert run.state == State.FAILED
    for name in ("again", "edit"):
        address = url("run", name, run.pk)
        admin_client.post(address, filled_in(page(admin_client, address)) if name == "edit" else {})
    drain()
    assert Run.objects.filter(state=State.FAILED).count() == 3
    assert all(each.arguments["data"] == SECRETS["data"] for each in Run.objects.all())
    return run


@pytest.fixture
def schedule(admin_client, job) -> Schedule:
    """A schedule with secrets of its own, and one that has those of the job."""
    make_schedule(job, name="As the job")
    schedule = make_schedule(job, arguments_json=json.dumps(SECRETS))
    address = url("schedule", "change", schedule.pk)
    admin_client.post(address, filled_in(page(admin_client, address)) | {"parameter-token": "S3CR3T-2c"})
    schedule.refresh_from_db()
    assert loads(schedule.arguments_json) == SECRETS | {"token": "S3CR3T-2c"}
    return schedule


def addresses_of_schedules() -> list[str]:
    pages = [url("schedule", name, each.pk) for name in ("change", "history") for each in Schedule.objects.all()]
    return [url("schedule"), *pages]


def addresses(run: Run, job: Job) -> list[str]:
    lists = [url(model) for model in ("run", "job", "auditentry", "worker", "queue")]
    of_rows = [url("auditentry", "change", entry.pk) for entry in AuditEntry.objects.all()]
    return [
        *lists, *of_rows, url("run", "change", run.pk), url("run", "history", run.pk), url("job", "change", job.pk),
        url("job", "history", job.pk), "/admin/",
    ]  # fmt: skip


VIEWER = ("view_run", "view_attempt", "view_job", "view_auditentry", "view_worker", "view_queue", "view_schedule")


def test_who_may_only_look_finds_neither_secrets_nor_values(staff, run, job, schedule):
    client = staff(*VIEWER)
    for address in (*addresses(run, job), *addresses_of_schedules()):
        html = page(client, address)
        assert "S3CR3T" not in html, address
        assert "visible" not in html, address
        assert "plainly said" not in html, address
    assert "The function raised ValueError." in page(client, url("run", "change", run.pk))


def test_who_may_see_values_finds_no_secret(staff, run, job, schedule):
    client = staff(*VIEWER, "view_arguments", "change_job", "run_job", "rerun_run", "add_schedule", "change_schedule")
    looks = staff(*VIEWER, "view_arguments", username="looks")
    for address in addresses_of_schedules():
        assert "S3CR3T" not in page(looks, address), address
    more = [
        url("job", "run", job.pk),
        url("run", "edit", run.pk),
        url("job", "parameters") + f"?task={job.task}&job={job.pk}",
        url("schedule", "add") + f"?job={job.pk}",
        url("schedule", "backfill", schedule.pk),
    ]
    for address in (*addresses(run, job), *addresses_of_schedules(), *more):
        assert "S3CR3T" not in page(client, address), address
    html = page(client, url("run", "change", run.pk))
    assert "visible" in html
    assert "plainly said" in html
    assert "password = &quot;S3CR3T" not in html


def test_refused_secrets_are_in_no_answer_and_no_message(admin_client, job):
    address = url("job", "change", job.pk)
    sent = filled_in(page(admin_client, address)) | {
        "parameter-password": "S3CR3T-5", "parameter-data": '{"api_key": "S3CR3T-6", ', "priority": "x",
    }  # fmt: skip
    response = admin_client.post(address, sent)
    html = response.content.decode()
    assert response.status_code == 200
    assert "S3CR3T-5" not in html
    Job.objects.update(arguments_json=json.dumps(SECRETS | {"password": ["S3CR3T-7"], "data": ["S3CR3T-8"]}))
    for name in ("password", "token"):
        assert f"S3CR3T-{name}" not in act(admin_client, "job", "run_now", job, follow=True).content.decode()
    assert "S3CR3T-7" not in admin_client.get(url("job")).content.decode()


def test_what_keeps_a_job_from_running_shows_values_only_to_those_who_may_see_them(staff, db):
    job = Job.objects.create(
        name="Greeting", task="tests.tasks.admin_greet", arguments_json='{"name":"Ada","times":"visible"}'
    )
    for username, permissions, shown in (("one", (), False), ("two", ("view_arguments",), True)):
        client = staff("view_job", "run_job", *permissions, username=username)
        act(client, "job", "run_now", job)
        html = page(client, url("job"))
        assert "Greeting: " in html
        assert ("visible" in html) is shown


def test_no_secret_is_logged_or_stands_in_an_address(admin_client, job, caplog):
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("django.db.backends").setLevel(logging.INFO)  # statements hold what they store
        address = url("job", "run", job.pk)
        admin_client.post(address, filled_in(page(admin_client, address)) | {"parameter-password": "S3CR3T-9"})
        drain()
    assert Run.objects.get().arguments["password"] == "S3CR3T-9"
    assert "S3CR3T" not in caplog.text
