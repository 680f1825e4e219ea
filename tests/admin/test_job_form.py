"""Jobs are defined with registered task functions and parameters that fit them, and with nothing else."""

import sys

import pytest

from jobs.models import Job
from jobs.registry import registry
from tests.admin.support import page, url

GREET = "tests.tasks.admin_greet"
TRAP = "tests.admin.trap.spring"


def fields(**changes) -> dict:
    """What the form sends for a job, with these changes."""
    return {"name": "Greeting", "task": GREET, "arguments_json": '{"name": "Ada"}', "is_enabled": "on"} | changes


def errors(response) -> dict:
    assert response.status_code == 200
    return response.context["adminform"].form.errors


def add(client, **changes):
    return client.post(url("job", "add"), fields(**changes))


@pytest.fixture
def job(db) -> Job:
    return Job.objects.create(name="Greeting", task=GREET, arguments_json='{"name": "Ada"}')


def test_every_registered_function_is_offered_and_nothing_else(admin_client):
    form = admin_client.get(url("job", "add")).context["adminform"].form
    assert [value for value, _ in form.fields["task"].choices] == ["", *(task.name for task in registry)]


def test_a_job_is_stored(admin_client):
    response = add(admin_client, priority="-3", queue="mail", on_lost="fail", max_losses="2", unique_key="one")
    assert response.status_code == 302
    job = Job.objects.get()
    assert (job.name, job.task, job.arguments) == ("Greeting", GREET, {"name": "Ada"})
    assert (job.priority, job.queue, job.on_lost, job.max_losses, job.unique_key) == (-3, "mail", "fail", 2, "one")
    assert job.created_at == job.updated_at is not None


def test_editing_a_job_keeps_when_it_was_made(admin_client):
    add(admin_client)
    job = Job.objects.get()
    made = job.created_at
    admin_client.post(url("job", "change", job.pk), fields(priority="7"))
    job.refresh_from_db()
    assert (job.priority, job.created_at) == (7, made)
    assert job.updated_at > made


@pytest.mark.parametrize("task", [TRAP, "tests.admin.trap", "os.system", "tests.tasks", "admin_greet", ""])
def test_any_other_path_is_refused(admin_client, task):
    assert "task" in errors(add(admin_client, task=task))
    assert not Job.objects.exists()


def test_a_path_in_a_hand_made_request_is_not_imported(admin_client, job):
    assert "task" in errors(add(admin_client, name="Other", task=TRAP))
    assert "task" in errors(admin_client.post(url("job", "change", job.pk), fields(task=TRAP)))
    assert "tests.admin.trap" not in sys.modules
    job.refresh_from_db()
    assert job.task == GREET


def test_a_job_whose_function_is_gone_can_be_looked_at_and_given_another(admin_client, job):
    Job.objects.update(task=TRAP)
    assert f"{TRAP} (not registered)" in page(admin_client, url("job", "change", job.pk))
    assert "task" in errors(admin_client.post(url("job", "change", job.pk), fields(task=TRAP)))
    assert "tests.admin.trap" not in sys.modules
    assert admin_client.post(url("job", "change", job.pk), fields()).status_code == 302


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"name": ', "Expected a JSON object"),
        ("[1]", "Expected a JSON object"),
        ('"Ada"', "Expected a JSON object"),
        ("null", "Expected a JSON object"),
        ("[" * 100_000, "Expected a JSON object"),
        ('{"name": 5}', "name: expected text"),
        ('{"name": "Ada", "times": "5"}', "times: expected a whole number"),
        ('{"name": "Ada", "times": NaN}', "nan"),
        ('{"name": "Ada", "tmies": 5}', "tmies: is no parameter of this function; did you mean &#x27;times&#x27;?"),
        ("{}", "name: is missing"),
        ("", "This field is required"),
    ],
)
def test_parameters_that_do_not_fit_are_an_error_of_their_field(admin_client, job, text, problem):
    for response in (
        add(admin_client, name="Other", arguments_json=text),
        admin_client.post(url("job", "change", job.pk), fields(arguments_json=text)),
    ):
        found = errors(response)
        assert set(found) == {"arguments_json"}
        assert problem.lower() in str(found["arguments_json"]).lower()
    assert Job.objects.get().arguments == {"name": "Ada"}


def test_all_wrong_parameters_are_told_at_once(admin_client):
    text = str(errors(add(admin_client, arguments_json='{"times": "x", "nmae": "Ada"}'))["arguments_json"])
    assert all(name in text for name in ("times: ", "nmae: ", "name: "))


def test_the_error_does_not_show_a_secret(admin_client):
    response = add(
        admin_client, task="tests.tasks.admin_with_secret", arguments_json='{"user":"a","api_token":["s3cr3t"]}'
    )
    text = str(errors(response)["arguments_json"])
    assert "api_token: expected text" in text
    assert "s3cr3t" not in text


@pytest.mark.parametrize(
    ("field", "value"),
    [("priority", "101"), ("priority", "-101"), ("priority", "high"), ("on_lost", "explode"), ("max_losses", "0")],
)
def test_an_option_out_of_range_is_an_error_of_its_field(admin_client, field, value):
    assert set(errors(add(admin_client, **{field: value}))) == {field}
    assert not Job.objects.exists()


def test_two_jobs_cannot_have_one_name(admin_client, job):
    assert set(errors(add(admin_client))) == {"name"}


def test_columns_without_a_field_cannot_be_written_by_a_hand_made_request(admin_client):
    add(admin_client, max_attempts="9", executor="celery", paused_reason="x", limit_key="x")
    job = Job.objects.get()
    assert (job.max_attempts, job.executor, job.paused_reason, job.limit_key) == (None, "", "", "")


@pytest.mark.parametrize(("permission", "may"), [("add_job", True), ("view_job", False)])
def test_adding_needs_its_permission(staff, permission, may):
    client = staff(permission)
    assert add(client).status_code == (302 if may else 403)
    assert Job.objects.exists() is may


@pytest.mark.parametrize(("permissions", "may_see"), [(["view_job"], False), (["view_job", "view_arguments"], True)])
def test_who_may_only_look_changes_nothing_and_sees_no_secret(staff, job, permissions, may_see):
    Job.objects.update(task="tests.tasks.admin_with_secret", arguments_json='{"user":"Ada","api_token":"s3cr3t"}')
    client = staff(*permissions)
    html = page(client, url("job", "change", job.pk))
    assert "s3cr3t" not in html
    assert ("Ada" in html) is may_see
    assert client.post(url("job", "change", job.pk), fields(name="Mine")).status_code == 403
    job.refresh_from_db()
    assert job.name == "Greeting"
