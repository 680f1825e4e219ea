"""Secrets and values in parameters, results, errors and logs (case W5)."""

import json
import logging
import re

import pytest
from django.urls import reverse

import jobs
from jobs.core.states import State
from jobs.models import AuditEntry, Job, Run, Schedule
from jobs.registry import registry
from jobs.testing import drain
from tests.admin.support import filled_in
from tests.web.support import make_schedule, url

SECRETS = {"password": "S3CR3T-1", "token": "S3CR3T-2", "data": {"api_key": "S3CR3T-3", "plain": "VALUE-1"}}
# What a function tells of itself is its own affair, but only for those who may see values.
VALUES = ("S3CR3T", "VALUE")
VIEWER = ("view_run", "view_job", "view_worker", "view_queue", "view_schedule")


@pytest.fixture
def raises():
    def func(password: str, token: str, data: dict):
        password = "S3CR3T-4"  # noqa: F841 - a local variable that a traceback could show
        logging.getLogger("shop").warning("VALUE-2 is logged")
        jobs.current_run().progress(1, 2, "half")
        raise ValueError("VALUE-3")

    yield jobs.register(func, name="tests.web.raises")
    registry.discard("tests.web.raises")


@pytest.fixture
def returns():
    def func(password: str, token: str, data: dict) -> dict:
        return {"session": {"password": password, "auth": [token]}, "plain": "VALUE-4"}

    yield jobs.register(func, name="tests.web.returns")
    registry.discard("tests.web.returns")


@pytest.fixture
def job(db, raises) -> Job:
    return Job.objects.create(name="With secrets", task=raises.name, arguments_json=json.dumps(SECRETS))


@pytest.fixture
def schedule(job) -> Schedule:
    """One with parameters of its own."""
    return make_schedule(job, arguments_json=json.dumps(SECRETS | {"token": "S3CR3T-11"}), name="With secrets too")


@pytest.fixture
def runs(operator, job, returns) -> list[Run]:
    """Runs as a person makes them on the pages: of a job, of a function, again, again with edits, one that waits."""
    send(operator, url("job_run", job.pk))
    typed = {"parameter-password": "S3CR3T-5", "parameter-token": "S3CR3T-6"}
    send(operator, url("submit_task", returns.name), **typed, **{"parameter-data": json.dumps(SECRETS["data"])})
    drain()
    failed, succeeded = Run.objects.order_by("pk")
    assert (failed.state, succeeded.state) == (State.FAILED, State.SUCCEEDED)
    operator.post(url("run_again", failed.pk))
    send(operator, url("run_edit", failed.pk), **{"parameter-token": "S3CR3T-7"})
    drain()
    send(operator, url("run_edit", succeeded.pk))
    found = list(Run.objects.order_by("pk"))
    assert [run.arguments["data"] for run in found] == [SECRETS["data"]] * 5
    assert [run.arguments["token"][-1] for run in found] == ["2", "6", "2", "7", "6"]
    return found


def send(client, address: str, **changes) -> None:
    html = client.get(address).content.decode()
    assert "S3CR3T" not in html
    response = client.post(address, filled_in(html) | changes)
    assert response.status_code == 302
    assert "S3CR3T" not in response.url


def addresses(job, runs) -> list[str]:
    of_runs = [url(name, run.pk) for run in runs for name in ("run", "run_live", "run_json")]
    lists = [url(name) for name in ("dashboard", "runs", "jobs", "workers", "upcoming")]
    return [*lists, *of_runs, url("job", job.pk), url("runs", state="failed"), url("runs", job=job.pk)]


def html_of(client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def test_who_may_only_look_finds_neither_secrets_nor_values(person, runs, job):
    client = person(*VIEWER)
    for address in (*addresses(job, runs), url("status")):
        html = html_of(client, address)
        assert not [value for value in VALUES if value in html], address
    assert "The function raised ValueError." in html_of(client, url("run", runs[0].pk))
    for run in runs:
        assert client.get(url("run_log", run.pk)).status_code == 403


def test_who_has_submitted_a_run_finds_no_values_either(person, runs):
    client = person()
    Run.objects.update(submitted_by_key=str(client.user.pk))
    for run in runs:
        for name in ("run", "run_live", "run_json", "run_log"):
            html = client.get(url(name, run.pk)).content.decode()
            assert not [value for value in VALUES if value in html], (name, run)


def test_who_may_see_values_finds_them_and_no_secret(person, runs, job):
    client = person(*VIEWER, "view_arguments", "run_job", "rerun_run", "change_job")
    forms = [url("job_run", job.pk), url("run_edit", runs[0].pk), url("submit_task", job.task)]
    for address in (*addresses(job, runs), *forms, *(url("run_log", run.pk) for run in runs)):
        assert "S3CR3T" not in html_of(client, address), address
    failed, succeeded = html_of(client, url("run", runs[0].pk)), html_of(client, url("run", runs[1].pk))
    for value in ("VALUE-1", "VALUE-2", "VALUE-3", "Traceback"):
        assert value in failed
    assert "VALUE-4" in succeeded
    assert "VALUE-2" in html_of(client, url("run_log", runs[0].pk))
    told = client.get(url("run_json", runs[1].pk)).json()
    assert told["arguments"]["password"] == told["result"]["session"]["password"] == "********************"
    assert told["arguments"]["data"] == {"api_key": "********************", "plain": "VALUE-1"}


def of_schedule(schedule) -> list[str]:
    names = ("schedule", "schedule_delete", "schedule_backfill")
    return [*(url(name, schedule.pk) for name in names), url("schedule_add", schedule.job_id)]


EDITOR = ("view_job", "run_job", "view_schedule", "add_schedule", "change_schedule", "delete_schedule")


def test_who_may_edit_schedules_finds_neither_secrets_nor_values(person, schedule):
    client = person(*EDITOR)
    for address in (*of_schedule(schedule), url("job", schedule.job_id), url("upcoming")):
        html = html_of(client, address)
        assert not [value for value in VALUES if value in html], address


def test_who_may_see_values_as_well_finds_those_of_the_schedule_and_no_secret(person, schedule):
    client = person(*EDITOR, "view_arguments")
    for address in of_schedule(schedule):
        assert "S3CR3T" not in html_of(client, address), address
    assert "VALUE-1" in html_of(client, url("schedule", schedule.pk))


def test_secrets_of_a_schedule_are_kept_when_its_form_is_sent_back(operator, schedule):
    send(operator, url("schedule", schedule.pk), expression="0 5 * * *")
    schedule.refresh_from_db()
    assert schedule.expression == "0 5 * * *"
    assert json.loads(schedule.arguments_json) == SECRETS | {"token": "S3CR3T-11"}
    assert "S3CR3T" not in str(list(AuditEntry.objects.values()))


def test_refused_secrets_of_a_schedule_are_in_no_answer(operator, schedule):
    sent = filled_in(html_of(operator, url("schedule", schedule.pk)))
    for changes in ({"expression": "x"}, {"preview": "1"}):
        typed = {"parameter-password": "S3CR3T-12", "parameter-token": "S3CR3T-13"}
        response = operator.post(url("schedule", schedule.pk), sent | typed | changes)
        assert response.status_code in (200, 422)
        assert "S3CR3T" not in response.content.decode()


def test_refused_secrets_are_in_no_answer(operator, job):
    for address in (url("job_run", job.pk), url("submit_task", job.task)):
        sent = filled_in(html_of(operator, address)) | {
            "parameter-password": "S3CR3T-8", "parameter-token": "S3CR3T-9", "run-priority": "x",
        }  # fmt: skip
        response = operator.post(address, sent)
        assert response.status_code == 422
        assert "S3CR3T" not in response.content.decode()


def test_a_secret_that_does_not_fit_is_in_no_answer(operator, job):
    Job.objects.update(arguments_json=json.dumps(SECRETS | {"password": ["S3CR3T-1"], "token": ["S3CR3T-2"]}))
    response = operator.post(url("job_run", job.pk), {"run-priority": "0", "run-queue": "q"})
    assert response.status_code == 422
    assert "S3CR3T" not in response.content.decode()


def test_no_secret_is_in_the_audit_log_an_address_or_a_message(operator, runs):
    entries = list(AuditEntry.objects.values())
    assert len(entries) >= 5
    assert "S3CR3T" not in str(entries)
    assert "VALUE" not in str(entries)


def test_no_secret_is_logged(operator, job, caplog):
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("django.db.backends").setLevel(logging.INFO)  # statements hold what they store
        send(operator, url("job_run", job.pk), **{"parameter-password": "S3CR3T-10"})
        drain()
    assert Run.objects.get().arguments["password"] == "S3CR3T-10"
    assert "S3CR3T" not in caplog.text


@pytest.mark.parametrize("name", ["password", "PASSWORD", "user_token", "apiKey", "x-api-key", "secret"])
def test_masked_at_any_depth(operator, name):
    values = {"list": [{name: "S3CR3T"}], "deep": {"er": {name: {"inner": ["S3CR3T"]}}}, name: "S3CR3T"}
    run = Run.objects.create(
        task="tests.tasks.admin_greet", arguments_json=json.dumps(values), result_json=json.dumps([values]),
        state="succeeded", queue="q", priority=0, effective_priority=0, order_key=0, **moments(),
    )  # fmt: skip
    for address in (url("run", run.pk), url("run_json", run.pk)):
        html = html_of(operator, address)
        assert "S3CR3T" not in html
        assert html.count("*" * 20) == 6


def moments() -> dict:
    from jobs.core import clock

    return dict.fromkeys(("ready_at", "enqueued_at", "finished_at", "started_at"), clock.now())


def test_no_value_stands_in_a_title_or_an_address(operator, runs, job):
    """Titles and addresses stay in the history of a browser."""
    for address in addresses(job, runs):
        html = html_of(operator, address)
        heads = re.findall(r"<title>.*?</title>|(?:href|action|hx-get)=\"[^\"]*\"", html, re.DOTALL)
        assert not [head for head in heads if any(value in head for value in VALUES)], address
    assert reverse("jobs:dashboard") == "/jobs/"
