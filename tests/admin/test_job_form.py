"""The form of a job: its own fields, and the typed parameters of the function that it has."""

import json
from datetime import timedelta

import pytest

import jobs
from jobs.core.retry import LONGEST_PAUSE
from jobs.models import Job
from jobs.registry import registry
from tests.admin.support import filled_in, job_fields, page, url

GREET = "tests.tasks.admin_greet"
SECRET = "tests.tasks.admin_with_secret"


def form_of(response):
    assert response.status_code == 200
    return response.context["adminform"].form


def errors(response) -> set[str]:
    """The names of all fields with an error; those of parameters as the form has them."""
    form = form_of(response)
    return {*form.errors} - {"arguments_json"} | set(form.parameters.errors if form.parameters else ())


def add(client, task=GREET, **changes):
    return client.post(url("job", "add"), job_fields(task, **changes))


def change(client, job, **changes):
    return client.post(url("job", "change", job.pk), job_fields(**changes))


@pytest.fixture
def job(db) -> Job:
    return Job.objects.create(name="Greeting", task=GREET, arguments_json='{"name":"Ada"}')


@pytest.fixture
def job_with_secret(db) -> Job:
    return Job.objects.create(name="Greeting", task=SECRET, arguments_json='{"user":"Ada","api_token":"s3cr3t"}')


def test_every_registered_function_is_offered_and_nothing_else(admin_client):
    form = admin_client.get(url("job", "add")).context["adminform"].form
    assert [value for value, _ in form.fields["task"].choices] == ["", *(task.name for task in registry)]


def test_a_job_is_stored(admin_client):
    options = {"priority": "-3", "queue": "mail", "on_lost": "fail", "max_losses": "2", "unique_key": "one"}
    response = add(admin_client, parameter__times="3", parameter__options='{"loud": true}', **options)
    assert response.status_code == 302
    job = Job.objects.get()
    assert (job.name, job.task) == ("Greeting", GREET)
    assert job.arguments == {"name": "Ada", "times": 3, "options": {"loud": True}}
    assert (job.priority, job.queue, job.on_lost, job.max_losses, job.unique_key) == (-3, "mail", "fail", 2, "one")
    assert job.created_at == job.updated_at is not None


def test_what_is_left_as_the_function_has_it_is_not_stored(admin_client):
    assert add(admin_client).status_code == 302
    assert Job.objects.get().arguments == {"name": "Ada"}


def test_the_stored_parameters_are_filled_in_and_saved_as_they_were(admin_client, job):
    arguments = '{"name":"Zo\\u00eb \\u0000 \\ud800","times":7,"options":{"a":[1,2.5,null]}}'
    Job.objects.update(arguments_json=arguments)
    html = page(admin_client, url("job", "change", job.pk))
    sent = filled_in(html)
    assert sent["parameter-times"] == ["7"]
    assert admin_client.post(url("job", "change", job.pk), sent).status_code == 302
    job.refresh_from_db()
    assert job.arguments_json == arguments


def test_the_text_of_the_json_is_no_field(admin_client, job):
    for address in (url("job", "add"), url("job", "change", job.pk)):
        assert "arguments_json" not in page(admin_client, address)
    change(admin_client, job, arguments_json='{"name": "Mallory"}')
    job.refresh_from_db()
    assert job.arguments == {"name": "Ada"}


def test_the_function_is_told_about(admin_client, job):
    html = page(admin_client, url("job", "change", job.pk))
    assert "Greet somebody by name." in html
    no_parameters = Job.objects.create(name="Single", task="tests.tasks.admin_single")
    assert "It takes no parameters." in page(admin_client, url("job", "change", no_parameters.pk))


def test_editing_a_job_keeps_when_it_was_made(admin_client):
    add(admin_client)
    job = Job.objects.get()
    made = job.created_at
    change(admin_client, job, priority="7")
    job.refresh_from_db()
    assert (job.priority, job.created_at) == (7, made)
    assert job.updated_at > made


@pytest.mark.parametrize(
    ("parameter", "text", "problem"),
    [
        ("times", "many", "Expected a whole number"),
        ("times", "1.5", "Expected a whole number"),
        ("options", "[1]", "Expected"),
        ("options", '{"a": ', "Expected"),
        ("options", "[" * 100_000, "Expected"),
    ],
)
def test_a_wrong_value_keeps_what_was_typed_and_names_its_parameter(admin_client, job, parameter, text, problem):
    typed = {"parameter__name": "Bob", "parameter__times": "2", f"parameter__{parameter}": text, "priority": "9"}
    for response in (add(admin_client, name="Other", **typed), change(admin_client, job, **typed)):
        assert errors(response) == {parameter}
        assert problem in str(form_of(response).parameters.errors[parameter])
        sent = filled_in(response.content.decode())
        assert sent[f"parameter-{parameter}"] == [text]
        assert sent["parameter-name"] == ["Bob"]
        assert sent["priority"] == ["9"]
    assert Job.objects.get().arguments == {"name": "Ada"}


def test_all_wrong_values_are_told_at_once(admin_client):
    assert errors(add(admin_client, priority="high", parameter__times="x", parameter__options="y")) == {
        "priority", "times", "options",
    }  # fmt: skip


def test_no_secret_is_shown_and_an_empty_field_keeps_it(admin_client, job_with_secret):
    html = page(admin_client, url("job", "change", job_with_secret.pk))
    assert "s3cr3t" not in html
    sent = filled_in(html) | {"parameter-user": "Bob"}
    assert admin_client.post(url("job", "change", job_with_secret.pk), sent).status_code == 302
    job_with_secret.refresh_from_db()
    assert job_with_secret.arguments == {"user": "Bob", "api_token": "s3cr3t"}


def test_an_error_does_not_show_a_secret(admin_client):
    typed = {"parameter__user": "a", "parameter__api_token": "s3cr3t", "parameter__more": "no JSON"}
    response = add(admin_client, SECRET, **typed)
    assert errors(response) == {"more"}
    html = response.content.decode()
    assert "s3cr3t" not in html
    assert 'placeholder="not sent back; type it again"' in html


@pytest.fixture
def other_function():
    def func(api_token: str = "none"): ...

    yield jobs.register(func, name="tests.admin.other")
    registry.discard("tests.admin.other")


def test_a_secret_does_not_pass_to_another_function(admin_client, job_with_secret, other_function):
    sent = job_fields(other_function.name, **{"parameter-api_token": ""})
    assert admin_client.post(url("job", "change", job_with_secret.pk), sent).status_code == 302
    job_with_secret.refresh_from_db()
    assert job_with_secret.task == other_function.name
    assert "s3cr3t" not in job_with_secret.arguments_json


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", "101"), ("priority", "-101"), ("priority", "high"), ("on_lost", "explode"), ("max_losses", "0"),
        ("queue", "\x00"), ("queue", "q" * 101), ("name", ""), ("task", ""),
    ],
)  # fmt: skip
def test_an_option_out_of_range_is_an_error_of_its_field(admin_client, field, value):
    assert errors(add(admin_client, **{field: value})) == {field}
    assert not Job.objects.exists()


def test_two_jobs_cannot_have_one_name(admin_client, job):
    assert errors(add(admin_client)) == {"name"}


def test_columns_without_a_field_cannot_be_written_by_a_hand_made_request(admin_client):
    add(admin_client, backoff_json='{"first": 1}', paused_reason="x", limit_key="x")
    job = Job.objects.get()
    assert (job.backoff_json, job.paused_reason, job.limit_key) == (None, "", "")


def test_what_is_left_empty_is_as_the_function_says(admin_client):
    add(admin_client)
    job = Job.objects.get()
    assert (job.max_attempts, job.backoff_json, job.timeout_seconds, job.executor) == (None, None, None, "")


BACKOFF = {"backoff_first": "2", "backoff_factor": "3", "backoff_cap": "60"}


def test_retries_timeout_and_executor_are_stored_and_shown_again(admin_client, job):
    change(admin_client, job, max_attempts="9", timeout_seconds="1.5", executor="processes", **BACKOFF)
    job.refresh_from_db()
    assert (job.max_attempts, job.timeout_seconds, job.executor) == (9, 1.5, "processes")
    assert job.backoff == jobs.Backoff(timedelta(seconds=2), 3, timedelta(seconds=60), 0.1)
    shown = filled_in(page(admin_client, url("job", "change", job.pk)))
    assert {name: float(shown[name][0]) for name in BACKOFF} == {name: float(value) for name, value in BACKOFF.items()}
    assert [shown[name][0] for name in ("max_attempts", "timeout_seconds", "executor")] == ["9", "1.5", "processes"]


def test_of_the_pauses_only_the_first_one_is_needed(admin_client, job):
    change(admin_client, job, backoff_first="2")
    job.refresh_from_db()
    assert job.backoff == jobs.Backoff(timedelta(seconds=2))


def test_emptied_pauses_are_again_those_of_the_function(admin_client, job):
    Job.objects.update(backoff_json=json.dumps(jobs.Backoff().to_json()))
    change(admin_client, job, backoff_first="")
    job.refresh_from_db()
    assert job.backoff is None


def test_what_the_form_does_not_show_of_the_pauses_is_kept(admin_client, job):
    """Jitter, and a cap that is none; as long as nobody changes the pauses, not even their text."""
    stored = json.dumps(jobs.Backoff(timedelta(seconds=2), cap=None, jitter=0.5).to_json())
    Job.objects.update(backoff_json=stored)
    sent = filled_in(page(admin_client, url("job", "change", job.pk)))
    admin_client.post(url("job", "change", job.pk), sent | {"name": "Other"})
    job.refresh_from_db()
    assert (job.name, job.backoff_json) == ("Other", stored)
    admin_client.post(url("job", "change", job.pk), sent | {"backoff_first": "5"})
    job.refresh_from_db()
    assert job.backoff == jobs.Backoff(timedelta(seconds=5), cap=LONGEST_PAUSE, jitter=0.5)


NONSENSE = [
    ({"max_attempts": "0"}, "max_attempts"), ({"max_attempts": "1001"}, "max_attempts"),
    ({"max_attempts": "many"}, "max_attempts"), ({"timeout_seconds": "0"}, "timeout_seconds"),
    ({"timeout_seconds": "-1"}, "timeout_seconds"), ({"timeout_seconds": "1e300"}, "timeout_seconds"),
    ({"timeout_seconds": "nan"}, "timeout_seconds"), ({"executor": "celery"}, "executor"),
    ({"backoff_first": "0"}, "backoff_first"), ({"backoff_first": "-5"}, "backoff_first"),
    ({"backoff_first": "abc"}, "backoff_first"), ({"backoff_first": "1e300"}, "backoff_first"),
    ({"backoff_factor": "2"}, "backoff_first"), ({"backoff_cap": "60"}, "backoff_first"),
    (BACKOFF | {"backoff_factor": "0.5"}, "backoff_first"), (BACKOFF | {"backoff_factor": "inf"}, "backoff_factor"),
    (BACKOFF | {"backoff_cap": "-1"}, "backoff_cap"), (BACKOFF | {"backoff_cap": "0"}, "backoff_first"),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "field"), NONSENSE, ids=str)
def test_nonsense_is_named_and_nothing_is_saved(admin_client, job, sent, field):
    before = Job.objects.values().get()
    assert errors(change(admin_client, job, **sent)) == {field}
    assert Job.objects.values().get() == before


@pytest.mark.parametrize("stored", ["nonsense", "[]", '{"first": -1}'])
def test_stored_pauses_that_are_none_can_be_mended(admin_client, job, stored):
    Job.objects.update(backoff_json=stored)
    sent = filled_in(page(admin_client, url("job", "change", job.pk)))
    admin_client.post(url("job", "change", job.pk), sent | {"backoff_first": "7"})
    job.refresh_from_db()
    assert job.backoff == jobs.Backoff(timedelta(seconds=7))


@pytest.mark.parametrize(("permissions", "may_see"), [(["view_job"], False), (["view_job", "view_arguments"], True)])
def test_who_may_only_look_changes_nothing_and_sees_no_secret(staff, job_with_secret, permissions, may_see):
    client = staff(*permissions)
    html = page(client, url("job", "change", job_with_secret.pk))
    assert "s3cr3t" not in html
    assert ("Ada" in html) is may_see
    assert "jobs-parameters" not in html
    assert change(client, job_with_secret, name="Mine").status_code == 403
    job_with_secret.refresh_from_db()
    assert job_with_secret.name == "Greeting"


@pytest.mark.parametrize("text", ["[1]", "null", "{", "5"])
def test_stored_parameters_that_are_no_object_can_be_looked_at_and_mended(admin_client, job, text):
    Job.objects.update(arguments_json=text)
    sent = filled_in(page(admin_client, url("job", "change", job.pk))) | {"parameter-name": "Bob"}
    assert admin_client.post(url("job", "change", job.pk), sent).status_code == 302
    job.refresh_from_db()
    assert job.arguments == {"name": "Bob"}


def test_stored_parameters_that_the_function_has_no_more_are_named_and_dropped(admin_client, job):
    Job.objects.update(arguments_json='{"name":"Ada","gone":1}')
    html = page(admin_client, url("job", "change", job.pk))
    assert "will be dropped: gone." in html
    assert admin_client.post(url("job", "change", job.pk), filled_in(html)).status_code == 302
    job.refresh_from_db()
    assert job.arguments == {"name": "Ada"}
