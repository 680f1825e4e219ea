"""Whatever a run, a person or a worker says is shown as text and never becomes markup."""

import json

import pytest

import jobs
from jobs.core import clock
from jobs.core.states import Reason, State
from jobs.lifecycle.audit import record
from jobs.models import AuditEntry, Job, Queue, Schedule
from jobs.registry import registry
from tests import tasks
from tests.admin.support import job_fields, make_run, make_schedule, make_worker, page, schedule_fields, url

SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"'><img src=x onerror=alert(1)>"
PAYLOADS = [SCRIPT, IMAGE]


@pytest.fixture(params=PAYLOADS, ids=["script", "image"])
def payload(request) -> str:
    return request.param


def assert_shown_as_text(html: str) -> None:
    assert "alert(1)" in html
    assert_no_markup(html)


def assert_no_markup(html: str) -> None:
    assert SCRIPT not in html
    assert "<img src=x" not in html


TEXT_COLUMNS = ("job_name", "task", "queue", "progress_message", "unique_key", "submitted_by_name")


@pytest.mark.parametrize("column", TEXT_COLUMNS)
def test_the_text_columns_of_a_run(admin_client, payload, column):
    run = make_run(State.SUCCEEDED, progress_done=1.0, **{column: payload})
    assert_shown_as_text(page(admin_client, url("run", "change", run.pk)))


@pytest.mark.parametrize("column", ["job_name", "task", "progress_message"])
def test_the_text_columns_in_the_list_of_runs(admin_client, payload, column):
    make_run(State.SUCCEEDED, progress_done=1.0, **{column: payload})
    assert_shown_as_text(page(admin_client, url("run")))


def test_the_filters_of_the_list_of_runs(admin_client, payload):
    make_run(queue=payload)
    make_run(queue="other")
    for parameters in ({}, {"queue": payload}, {"q": payload}, {"state__exact": payload}):
        assert_no_markup(admin_client.get(url("run"), parameters).content.decode())


def test_parameters(admin_client, payload):
    run = tasks.admin_greet.enqueue(payload, options={payload: [payload]})
    assert_shown_as_text(page(admin_client, url("run", "change", run.pk)))


def test_results(admin_client, payload):
    run = make_run(State.SUCCEEDED, result_json=json.dumps({payload: payload}))
    assert_shown_as_text(page(admin_client, url("run", "change", run.pk)))


def test_the_log(admin_client, payload):
    run = make_run(State.RUNNING)
    run.log_chunks.create(attempt=1, number=1, text=f"{payload}\n", written_at=clock.now())
    assert_shown_as_text(page(admin_client, url("run", "change", run.pk)))


def test_the_reason(admin_client, payload):
    reason = {"error_class": "ValueError", "message": payload}
    run = make_run(State.FAILED, reason_code=Reason.FUNCTION_RAISED.value, reason_json=json.dumps(reason))
    assert_shown_as_text(page(admin_client, url("run", "change", run.pk)))
    assert_shown_as_text(page(admin_client, url("run")))


@pytest.mark.parametrize("column", ["error_class", "message", "traceback", "worker_name"])
def test_attempts(admin_client, payload, column):
    run = make_run(State.FAILED)
    run.attempts.create(number=1, outcome="failed", ended_at=clock.now(), **{column: payload})
    assert_shown_as_text(page(admin_client, url("run", "change", run.pk)))


@pytest.mark.parametrize("column", ["name", "queues", "host", "version", "problem"])
def test_workers(admin_client, payload, column):
    worker = make_worker(**{column: payload})
    assert_shown_as_text(page(admin_client, url("worker")))
    assert_shown_as_text(page(admin_client, url("worker", "change", worker.pk)))


def test_audit_entries(admin_client, payload):
    record("cancel", make_run(job_name=payload), actor=payload, note=payload)
    assert_shown_as_text(page(admin_client, url("auditentry")))
    assert_shown_as_text(page(admin_client, url("auditentry", "change", AuditEntry.objects.get().pk)))


def test_details_of_audit_entries(admin_client, payload):
    record("change", make_run(), actor="Ada", note="", **{payload: [payload]})
    assert_shown_as_text(page(admin_client, url("auditentry")))
    assert_shown_as_text(page(admin_client, url("auditentry", "change", AuditEntry.objects.get().pk)))


@pytest.mark.parametrize("column", ["name", "task", "queue", "description", "unique_key"])
def test_jobs(admin_client, payload, column):
    columns = {"name": "Greeting", "task": "tests.tasks.admin_greet", column: payload}
    job = Job.objects.create(**columns)
    assert_shown_as_text(page(admin_client, url("job", "change", job.pk)))
    if column in ("name", "task", "queue"):
        assert_shown_as_text(page(admin_client, url("job")))


@pytest.mark.parametrize("column", ["name", "expression", "time_zone", "problem", "kind"])
def test_schedules(admin_client, payload, column):
    job = Job.objects.create(name="Greeting", task="tests.tasks.admin_greet")
    schedule = make_schedule(job)
    text = payload[:10] if column == "kind" else payload
    Schedule.objects.update(**{column: text})
    pages = [url("schedule"), url("schedule", "change", schedule.pk), url("job", "change", job.pk)]
    for address in (*pages, url("schedule", "backfill", schedule.pk)):
        assert_no_markup(page(admin_client, address))
    if column != "kind":
        assert_shown_as_text(page(admin_client, pages[1]))


def test_the_job_and_the_parameters_of_a_schedule(admin_client, payload):
    job = Job.objects.create(name=payload, task="tests.tasks.admin_greet")
    schedule = make_schedule(job, arguments_json=json.dumps({"name": payload, payload: payload}))
    for address in (
        url("schedule"), url("schedule", "add"), f"{url('schedule', 'add')}?job={job.pk}",
        url("schedule", "change", schedule.pk),
    ):  # fmt: skip
        assert_shown_as_text(page(admin_client, address))


@pytest.mark.parametrize("field", ["expression", "time_zone", "starts_at", "interval_seconds"])
def test_what_is_typed_for_a_rule(admin_client, payload, field):
    job = Job.objects.create(name="Greeting", task="tests.tasks.admin_greet")
    kind = "interval" if field == "interval_seconds" else "cron"
    sent = schedule_fields(**{"kind": kind, field: payload})
    assert_shown_as_text(admin_client.get(url("schedule", "preview"), sent).content.decode())
    assert_shown_as_text(admin_client.post(f"{url('schedule', 'add')}?job={job.pk}", sent).content.decode())


@pytest.mark.parametrize("field", ["start", "note", "priority"])
def test_what_is_typed_to_fill_in_slots(admin_client, payload, field):
    schedule = make_schedule(Job.objects.create(name="Greeting", task="tests.tasks.admin_greet"))
    answer = admin_client.post(url("schedule", "backfill", schedule.pk), {f"backfill-{field}": payload})
    assert_shown_as_text(answer.content.decode())


@pytest.mark.parametrize("column", ["name", "paused_reason", "paused_by_name"])
def test_queues(admin_client, payload, column):
    queue = Queue.objects.create(**{"name": "mail", "is_paused": True, column: payload})
    assert_shown_as_text(page(admin_client, url("queue")))
    assert_shown_as_text(page(admin_client, url("queue", "change", queue.pk)))


def test_names_of_queues_that_are_suggested(admin_client, payload):
    Queue.objects.create(name=payload)
    job = Job.objects.create(name="Greeting", task="tests.tasks.admin_greet")
    for address in (url("queue", "add"), url("job", "add"), url("job", "run", job.pk)):
        assert_shown_as_text(page(admin_client, address))


def test_typed_parameters(admin_client, payload):
    arguments = {"name": payload, "options": {payload: payload}, payload: payload}
    job = Job.objects.create(name="Greeting", task="tests.tasks.admin_greet", arguments_json=json.dumps(arguments))
    run = make_run(State.FAILED, arguments_json=json.dumps(arguments))
    for address in (url("job", "change", job.pk), url("job", "run", job.pk), url("run", "edit", run.pk)):
        assert_shown_as_text(page(admin_client, address))
    sent = job_fields(parameter__name=payload, parameter__times=payload)
    assert_shown_as_text(admin_client.post(url("job", "change", job.pk), sent).content.decode())


def test_what_a_function_says_of_itself(admin_client, payload):
    def func(name: str = ""): ...

    func.__doc__ = f"Do {payload}.\n\n{payload}\n\n:param name: {payload}"
    task = jobs.register(func, name="tests.admin.talkative", label=payload)
    try:
        assert_shown_as_text(admin_client.get(url("job", "parameters"), {"task": task.name}).content.decode())
        assert_shown_as_text(page(admin_client, url("job", "add")))
    finally:
        registry.discard(task.name)


@pytest.mark.parametrize(("model", "action"), [("job", "run_now"), ("run", "run_again")])
def test_messages_after_an_action(admin_client, payload, model, action):
    if model == "job":
        row = Job.objects.create(name=payload, task="tests.tasks.admin_greet", arguments_json='{"name":"Ada"}')
    else:
        row = make_run(State.FAILED, job_name=payload)
    assert_shown_as_text(admin_client.post(url(model), chosen(action, row), follow=True).content.decode())


def test_the_message_of_a_job_that_cannot_run(admin_client, payload):
    job = Job.objects.create(name=payload, task=payload)
    assert_shown_as_text(admin_client.post(url("job"), chosen("run_now", job), follow=True).content.decode())


def test_who_cancelled(admin_client, payload):
    run = make_run()
    run.cancel(actor=payload)
    assert_shown_as_text(page(admin_client, url("run", "change", run.pk)))


def chosen(action: str, row) -> dict:
    return {"action": action, "_selected_action": [row.pk], "index": 0}
