"""There is no way from the admin to code that nobody has registered (case W4)."""

import sys

import pytest
from django.db import connection

from jobs.core.states import State
from jobs.models import Job, Run
from jobs.testing import drain
from tests.admin.support import act, job_fields, make_run, page, told, url

TRAP = "tests.admin.trap"
PATHS = [
    "os.system",
    "subprocess.run",
    "builtins.eval",
    "django.core.management.call_command",
    f"{TRAP}.spring",
    TRAP,
    "tests.tasks.os.system",
    "tests.tasks",
    "admin_greet",
    "tests.tasks.admin_greet ",
    "\x00",
]
paths = pytest.mark.parametrize("path", PATHS, ids=repr)
# What somebody may have written into a row: PostgreSQL holds no NUL.
stored_paths = pytest.mark.parametrize(
    "path", [path for path in PATHS if "\x00" not in path or connection.vendor != "postgresql"], ids=repr
)
ALL = (
    "add_job",
    "change_job",
    "view_job",
    "delete_job",
    "run_job",
    "rerun_run",
    "cancel_run",
    "view_run",
    "view_arguments",
)


@pytest.fixture(autouse=True)
def nothing_is_imported():
    sys.modules.pop(TRAP, None)
    before = set(sys.modules)
    yield
    assert TRAP not in sys.modules
    assert "tests.tasks.os" not in set(sys.modules) - before


@pytest.fixture(params=["superuser", "all permissions"])
def operator(request, admin_client, staff):
    return admin_client if request.param == "superuser" else staff(*ALL)


@pytest.fixture
def job(db) -> Job:
    return Job.objects.create(name="Greeting", task="tests.tasks.admin_greet", arguments_json='{"name":"Ada"}')


def assert_refused(response) -> None:
    assert response.status_code == 200
    assert "task" in response.context["adminform"].form.errors


@paths
def test_no_form_offers_it(operator, job, path):
    for address in (url("job", "add"), url("job", "change", job.pk)):
        assert f'<option value="{path}"' not in page(operator, address)


@paths
def test_no_hand_made_request_stores_it(operator, job, path):
    hooks = {"hook": path, "group": path, "template": path, "executor": path, "parameter-hook": path}
    sent = job_fields(path, **{"parameter-name": "id"}, **hooks)
    assert_refused(operator.post(url("job", "add"), {**sent, "name": "Other"}))
    assert_refused(operator.post(url("job", "change", job.pk), sent))
    operator.post(url("job", "add"), job_fields(name="Third", **hooks))
    assert not [value for row in Job.objects.values() for value in row.values() if value == path]


@paths
def test_no_parameters_of_it_are_fetched(operator, job, path):
    for more in ({}, {"job": job.pk}):
        response = operator.get(url("job", "parameters"), {"task": path, **more})
        assert (response.status_code, response.content.strip()) == (200, b"")


@stored_paths
def test_a_job_changed_by_sql_cannot_be_run_or_saved(operator, job, path):
    Job.objects.update(task=path)
    assert "(not registered)" in page(operator, url("job", "change", job.pk))
    assert_refused(operator.post(url("job", "change", job.pk), job_fields(path)))
    assert "not registered" in told(act(operator, "job", "run_now", job))[-1]
    for method in (operator.get, operator.post):
        assert "not registered" in told(method(url("job", "run", job.pk), {"parameter-name": "id"}))[-1]
    assert not Run.objects.exists()


@stored_paths
def test_a_run_changed_by_sql_fails(operator, path):
    run = make_run()
    Run.objects.update(task=path)
    drain()
    run.refresh_from_db()
    assert (run.state, run.reason_code) == (State.FAILED, "not_registered")
    assert "not registered" in page(operator, url("run", "change", run.pk))
    assert "not registered" in told(operator.post(url("run", "edit", run.pk), {"parameter-name": "id"}))[-1]
    operator.post(url("run", "again", run.pk))
    drain()
    assert set(Run.objects.values_list("state", "reason_code")) == {("failed", "not_registered")}


def test_a_job_whose_function_is_gone_can_be_given_another(operator, job):
    Job.objects.update(task=f"{TRAP}.spring")
    assert operator.post(url("job", "change", job.pk), job_fields()).status_code == 302
    job.refresh_from_db()
    assert job.task == "tests.tasks.admin_greet"
