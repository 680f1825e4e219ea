"""Who may do what: one table for every address and every action of the admin (cases W2 and W3).

Each user, each request: what is answered, and whether anything in the tables is different afterwards.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from django.contrib.auth.models import Permission, User
from django.db import transaction
from django.test import Client
from django.urls import get_resolver

from jobs.core.states import State
from jobs.lifecycle.audit import record
from jobs.models import AuditEntry, Job, Queue, Run, Schedule, Worker
from tests.admin.support import job_fields, make_run, make_schedule, make_worker, schedule_fields, url

STAFF = {
    "no permission": (),
    "view_run": ("view_run",),
    "change_run": ("change_run", "add_run", "delete_run"),
    "view_job": ("view_job",),
    "run_job": ("view_job", "run_job"),
    "run_job only": ("run_job",),
    "cancel_run": ("view_run", "cancel_run"),
    "cancel_run only": ("cancel_run",),
    "rerun_run": ("view_run", "rerun_run"),
    "rerun_run only": ("rerun_run",),
    "view_arguments": ("view_run", "view_job", "view_arguments"),
    "rerun_run, view_arguments": ("view_run", "rerun_run", "view_arguments"),
    "change_job": ("view_job", "change_job"),
    "add_job": ("add_job",),
    "delete_job": ("view_job", "delete_job"),
    "view_schedule": ("view_schedule",),
    "change_schedule": ("view_schedule", "change_schedule"),
    "add_schedule": ("add_schedule",),
    "delete_schedule": ("view_schedule", "delete_schedule"),
    "run_job, view_schedule": ("view_schedule", "run_job"),
    "view_queue": ("view_queue",),
    "change_queue": ("view_queue", "change_queue"),
    "add_queue": ("add_queue",),
    "delete_queue": ("view_queue", "delete_queue"),
    "view_worker": ("view_worker", "change_worker", "add_worker", "delete_worker"),
    "view_auditentry": ("view_auditentry", "change_auditentry", "add_auditentry", "delete_auditentry"),
}
USERS = ("anonymous", "plain", *STAFF, "superuser")
TABLES = (Run, Job, Schedule, Queue, Worker, AuditEntry)
ROWS = {
    "run": "waiting",
    "job": "job",
    "schedule": "schedule",
    "queue": "queue",
    "worker": "worker",
    "auditentry": "entry",
}


def whole_of(permissions: str) -> frozenset:
    """The names of the users that have one of these permissions (with `+`: both), the superuser among them."""
    wanted = [set(each.split("+")) for each in permissions.split()]
    holders = {name for name, held in STAFF.items() if any(each <= set(held) for each in wanted)}
    return frozenset(holders | {"superuser"})


NOBODY = frozenset()
SUPERUSER = frozenset({"superuser"})
VIEW = {
    "run": whole_of("view_run"),
    "job": whole_of("view_job change_job"),
    "schedule": whole_of("view_schedule change_schedule"),
    "queue": whole_of("view_queue change_queue"),
    "worker": whole_of("view_worker"),
    "auditentry": whole_of("view_auditentry"),
}
ADD = {"job": whole_of("add_job"), "schedule": whole_of("add_schedule"), "queue": whole_of("add_queue")}
CHANGE_JOB, RUN_JOB = whole_of("change_job"), whole_of("view_job+run_job")
CANCEL, RERUN = whole_of("view_run+cancel_run"), whole_of("view_run+rerun_run")
EDIT_RUN = whole_of("view_run+rerun_run+view_arguments")
PAUSE = whole_of("view_queue+change_queue")
CHANGE_SCHEDULE, PREVIEW = whole_of("change_schedule"), whole_of("add_schedule change_schedule")
BACKFILL = whole_of("view_schedule+run_job")
# Deleting announces what is deleted with it, which the admin lets only those see who may delete all of it.
DELETE = {"job": whole_of("view_job+delete_job"), "schedule": whole_of("view_schedule+delete_schedule")}


@dataclass(frozen=True)
class Request:
    """One request: who may make it, and whether it then changes anything."""

    name: str
    send: Callable
    allowed: frozenset
    changes: bool = False


def get(name, address, allowed, method="get"):
    return Request(f"{method} {name}", lambda client, rows: getattr(client, method)(address(rows)), allowed)


def post(name, address, data, allowed, changes=True):
    def send(client, rows):
        return client.post(address(rows), data(rows))

    return Request(f"post {name}", send, allowed, changes)


def action(model, name, row, allowed, **more):
    def data(rows):
        return {"action": name, "_selected_action": [rows[row].pk], "index": 0, **more}

    return post(f"{model} action {name} {sorted(more)}", lambda rows: url(model), data, allowed)


def of(model, page, row=None):
    return lambda rows: url(model, page, rows[row or ROWS[model]].pk)


def add_schedule(rows) -> str:
    return f"{url('schedule', 'add')}?job={rows['job'].pk}"


UNSEEN = {"backfill-start": "2026-01-01T00:00", "backfill-until": "2026-01-03T00:00"}
BACKFILLED = UNSEEN | {"backfill-counted": "2025-12-31T23:00:00+00:00 2026-01-02T23:00:00+00:00"}


def looking() -> list[Request]:
    found = []
    for method in ("get", "head"):
        for model in ROWS:
            found += [
                get(f"{model} list", lambda rows, model=model: url(model), VIEW[model], method),
                get(f"{model} page", of(model, "change"), VIEW[model], method),
                get(f"{model} history", of(model, "history"), VIEW[model], method),
                get(f"{model} add", lambda rows, model=model: url(model, "add"), ADD.get(model, NOBODY), method),
                get(f"{model} delete", of(model, "delete"), DELETE.get(model, NOBODY), method),
            ]
        found += [
            get("job parameters", lambda rows: url("job", "parameters"), ADD["job"], method),
            get(
                "parameters of a job",
                lambda rows: f"{url('job', 'parameters')}?job={rows['job'].pk}",
                CHANGE_JOB,
                method,
            ),
            get("job run", of("job", "run"), RUN_JOB, method),
            get("run edit", of("run", "edit", "ended"), EDIT_RUN, method),
            get("schedule add for a job", add_schedule, ADD["schedule"], method),
            get("schedule preview", lambda rows: url("schedule", "preview"), PREVIEW, method),
            get("schedule backfill", of("schedule", "backfill"), BACKFILL, method),
        ]
    return found


def doing() -> list[Request]:
    fields = lambda rows: job_fields(name="Other")  # noqa: E731
    nothing = lambda rows: {}  # noqa: E731
    options = {"run-priority": "1", "run-queue": "mail"}
    parameters = {"parameter-name": "Ada", "parameter-times": "1"}
    found = [
        post("job add", lambda rows: url("job", "add"), fields, ADD["job"]),
        post("job change", of("job", "change"), fields, CHANGE_JOB),
        post("job delete", of("job", "delete"), lambda rows: {"post": "yes"}, DELETE["job"]),
        post("job run", of("job", "run"), lambda rows: options | parameters, RUN_JOB),
        post("run cancel", of("run", "cancel"), nothing, CANCEL),
        post("run again", of("run", "again", "ended"), nothing, RERUN),
        post("run edit", of("run", "edit", "ended"), lambda rows: options | parameters, EDIT_RUN),
        post("schedule add", add_schedule, lambda rows: schedule_fields(), ADD["schedule"]),
        post("schedule change", of("schedule", "change"), lambda rows: schedule_fields(), CHANGE_SCHEDULE),
        post("schedule delete", of("schedule", "delete"), lambda rows: {"post": "yes"}, DELETE["schedule"]),
        post("schedule backfill", of("schedule", "backfill"), lambda rows: BACKFILLED, BACKFILL),
        post("schedule backfill unseen", of("schedule", "backfill"), lambda rows: UNSEEN, BACKFILL, False),
        post("queue add", lambda rows: url("queue", "add"), lambda rows: {"name": "new"}, ADD["queue"]),
        action("job", "run_now", "job", RUN_JOB),
        action("job", "disable", "job", CHANGE_JOB),
        action("job", "enable", "disabled", CHANGE_JOB),
        action("job", "delete_selected", "job", DELETE["job"], post="yes"),
        action("schedule", "disable", "schedule", CHANGE_SCHEDULE),
        action("schedule", "enable", "disabled schedule", CHANGE_SCHEDULE),
        action("schedule", "delete_selected", "schedule", DELETE["schedule"], post="yes"),
        replace(action("schedule", "fill_in", "schedule", BACKFILL), changes=False),
        action("run", "cancel", "waiting", CANCEL),
        action("run", "cancel", "ended", CANCEL, select_across="1"),
        action("run", "run_again", "ended", RERUN),
        action("run", "run_again", "waiting", RERUN, select_across="1"),
        action("queue", "pause_selected", "queue", PAUSE, reason="full"),
        action("queue", "resume_selected", "paused", PAUSE),
        action("queue", "pause_selected", "paused", PAUSE, select_across="1"),
    ]
    for model, row in ROWS.items():
        found.append(action(model, "no_such_action", row, NOBODY))
        found.append(post(f"{model} list edited", lambda rows, model=model: url(model), edited, VIEW[model], False))
        if model not in DELETE:
            found += [
                post(f"{model} change", of(model, "change"), lambda rows: {"name": "x", "state": "failed"}, NOBODY),
                post(f"{model} delete", of(model, "delete"), lambda rows: {"post": "yes"}, NOBODY),
                action(model, "delete_selected", row, NOBODY, post="yes"),
            ]
        if model not in ADD:
            found.append(post(f"{model} add", lambda rows, model=model: url(model, "add"), nothing, NOBODY))
    return found


def edited(rows) -> dict:
    return {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "form-0-id": "1", "form-0-state": "x", "_save": "Save"}


LOOKING, DOING = looking(), doing()


@pytest.fixture
def rows(db) -> dict:
    scheduled = Job.objects.create(name="Report", task="tests.tasks.admin_greet", arguments_json='{"name":"Ada"}')
    found = {
        "job": Job.objects.create(name="Greeting", task="tests.tasks.admin_greet", arguments_json='{"name":"Ada"}'),
        "disabled": Job.objects.create(name="Off", task="tests.tasks.admin_greet", is_enabled=False),
        "schedule": make_schedule(scheduled),
        "disabled schedule": make_schedule(scheduled, is_enabled=False),
        "waiting": make_run(),
        "ended": make_run(State.FAILED),
        "running": make_run(State.RUNNING),
        "queue": Queue.objects.create(name="mail"),
        "paused": Queue.objects.create(name="slow", is_paused=True),
        "worker": make_worker(),
    }
    record("cancel", found["waiting"], actor="somebody", note="")
    return found | {"entry": AuditEntry.objects.get()}


def client_of(name: str, **options) -> Client:
    client = Client(**options)
    if name == "anonymous":
        return client
    is_super = name == "superuser"
    user = User.objects.create_user(f"user {name}", is_staff=is_super or name in STAFF, is_superuser=is_super)
    permissions = Permission.objects.filter(content_type__app_label="jobs", codename__in=STAFF.get(name, ()))
    assert len(permissions) == len(STAFF.get(name, ()))
    user.user_permissions.set(permissions)
    client.force_login(user)
    return client


def tables() -> dict:
    return {model: list(model.objects.order_by("pk").values()) for model in TABLES}


@contextmanager
def undone():
    """Take back what is done inside, so that each request finds the tables as they were."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def is_refused(response, user: str) -> bool:
    if user in ("anonymous", "plain"):
        return response.status_code == 302 and response["Location"].startswith("/admin/login/")
    return response.status_code == 403


@pytest.mark.parametrize("user", USERS)
def test_looking_is_for_those_who_may_and_changes_nothing(rows, user):
    client, before = client_of(user), tables()
    for request in LOOKING if user == "superuser" else [each for each in LOOKING if each.name.startswith("get")]:
        response = request.send(client, rows)
        if user in request.allowed:
            assert response.status_code == 200, request.name
        else:
            assert is_refused(response, user), (request.name, response.status_code)
    assert tables() == before


@pytest.mark.parametrize("user", USERS)
def test_doing_is_for_those_who_may(rows, user):
    client, before = client_of(user), tables()
    for request in DOING:
        with undone():
            response = request.send(client, rows)
            if user not in request.allowed:
                assert is_refused(response, user), (request.name, response.status_code)
                assert tables() == before, request.name
                continue
            assert response.status_code in (200, 302), (request.name, response.status_code)
            assert (tables() != before) is request.changes, request.name
            if request.changes:
                newest = AuditEntry.objects.order_by("-pk").values_list("actor_name", flat=True)[0]
                assert newest == f"user {user}", request.name


def test_every_request_is_made_by_somebody_and_refused_to_somebody():
    for request in (*LOOKING, *DOING):
        assert request.allowed <= set(USERS), request.name
        assert {"anonymous", "plain", "no permission"}.isdisjoint(request.allowed), request.name


def test_nothing_is_done_without_the_token(rows):
    client, before = client_of("superuser", enforce_csrf_checks=True), tables()
    for request in DOING:
        assert request.send(client, rows).status_code == 403, request.name
    assert tables() == before


@pytest.mark.parametrize("method", ["get", "head", "put", "patch", "delete", "options"])
@pytest.mark.parametrize(("page", "row"), [("cancel", "waiting"), ("again", "ended")])
def test_what_changes_something_takes_no_other_method(rows, method, page, row):
    client, before = client_of("superuser"), tables()
    assert getattr(client, method)(url("run", page, rows[row].pk)).status_code == 405
    assert tables() == before


def test_what_only_shows_something_takes_no_post(rows):
    client, before = client_of("superuser"), tables()
    assert client.post(url("job", "parameters"), {"task": "tests.tasks.admin_greet"}).status_code == 405
    assert client.post(url("schedule", "preview"), schedule_fields()).status_code == 405
    assert tables() == before


def test_rows_outside_of_the_filtered_list_are_left_alone(rows):
    client, before = client_of("superuser"), tables()
    for more in ({}, {"select_across": "1"}):
        data = {"action": "cancel", "_selected_action": [rows["waiting"].pk], "index": 0, **more}
        client.post(url("run") + "?state__exact=succeeded", data)
        data = {"action": "disable", "_selected_action": [rows["job"].pk], "index": 0, **more}
        client.post(url("job") + "?is_enabled__exact=0", data)
    assert tables() == before


@pytest.mark.parametrize("user", USERS)
def test_the_index_lists_what_this_person_may_open(rows, user):
    response = client_of(user).get("/admin/")
    if user in ("anonymous", "plain"):
        assert is_refused(response, user)
        return
    apps = {each["app_label"]: each for each in response.context["app_list"]}
    listed = {model["object_name"].lower() for model in apps.get("jobs", {"models": []})["models"]}
    addable = {model for model, allowed in ADD.items() if user in allowed}
    assert listed - addable == {model for model, allowed in VIEW.items() if user in allowed} - addable


def test_the_table_has_every_address_of_the_admin():
    """An address that is added later has to be added to the table as well."""
    named = {
        name for name in get_resolver("config.urls").namespace_dict["admin"][1].reverse_dict if isinstance(name, str)
    }
    ours = {name for name in named if name.startswith("jobs_")}
    standard = {
        f"jobs_{model}_{page}" for model in ROWS for page in ("changelist", "add", "change", "history", "delete")
    }
    assert ours - standard == {
        "jobs_job_parameters",
        "jobs_job_run",
        "jobs_run_cancel",
        "jobs_run_again",
        "jobs_run_edit",
        "jobs_schedule_preview",
        "jobs_schedule_backfill",
    }
