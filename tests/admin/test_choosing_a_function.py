"""What happens when another function is chosen, with JavaScript and without."""

import pytest

import jobs
from jobs.models import Job
from jobs.registry import registry
from tests.admin.support import filled_in, job_fields, page, url

GREET = "tests.tasks.admin_greet"


@pytest.fixture
def job(db) -> Job:
    return Job.objects.create(name="Greeting", task=GREET, arguments_json='{"name":"Ada","times":4}')


@pytest.fixture
def defaults():
    """A function all of whose parameters have defaults, some of which an empty form would not give."""

    def func(name: str = "Bob", flag: bool = True, days: list[int] = [1, 2], ratio: float | None = 0.5): ...  # noqa: B006

    yield jobs.register(func, name="tests.admin.defaults")
    registry.discard("tests.admin.defaults")


def fetch(client, **parameters) -> str:
    response = client.get(url("job", "parameters"), parameters, headers={"HX-Request": "true"})
    assert response.status_code == 200
    return response.content.decode()


def test_the_fields_of_the_function_are_fetched(admin_client):
    sent = filled_in(fetch(admin_client, task="tests.tasks.admin_with_secret"))
    assert sent == {
        "parameters_of": ["tests.tasks.admin_with_secret"],
        "parameter-user": [""],
        "parameter-api_token": [""],
        "parameter-more": [""],
    }


def test_of_a_job_the_stored_parameters_are_fetched_for_its_own_function_only(admin_client, job, defaults):
    assert filled_in(fetch(admin_client, task=GREET, job=job.pk))["parameter-name"] == ["Ada"]
    assert filled_in(fetch(admin_client, task=defaults.name, job=job.pk))["parameter-name"] == ["Bob"]


@pytest.mark.parametrize("task", ["", "os.system", "tests.admin.trap.spring", "\x00", "<script>"])
def test_of_what_is_not_registered_nothing_is_fetched(admin_client, task):
    assert fetch(admin_client, task=task).strip() == ""


@pytest.mark.parametrize("job", ["x", "999999", "-1", "1e400"])
def test_of_a_job_that_is_not_there_a_fresh_form_is_fetched(admin_client, job):
    assert filled_in(fetch(admin_client, task=GREET, job=job))["parameter-name"] == [""]


def test_the_pages_fetch_them_when_the_choice_changes(admin_client, job):
    for address, expected in (
        (url("job", "add"), url("job", "parameters")),
        (url("job", "change", job.pk), f"{url('job', 'parameters')}?job={job.pk}"),
    ):
        html = page(admin_client, address)
        assert f'hx-get="{expected}" hx-target="#jobs-parameters"' in html
        assert html.count('id="jobs-parameters"') == 1
        assert "django_htmx/htmx" in html


def test_no_page_has_script_or_style_inline(admin_client, job):
    for address in (url("job", "add"), url("job", "change", job.pk), url("job", "run", job.pk)):
        html = page(admin_client, address)
        assert " style=" not in html
        assert " onclick=" not in html
        assert "<style" not in html
        scripts = html.split("<script")[1:]
        assert all(" src=" in script.partition(">")[0] or 'type="application/json"' in script for script in scripts)


@pytest.mark.parametrize("permission", ["view_job", "run_job", "delete_job"])
def test_fetching_needs_the_permission_to_add_or_change(staff, job, permission):
    client = staff(permission)
    assert client.get(url("job", "parameters"), {"task": GREET}).status_code == 403
    assert client.get(url("job", "parameters"), {"task": GREET, "job": job.pk}).status_code == 403


def test_fetching_stored_parameters_needs_the_permission_to_change(staff, job):
    assert staff("add_job").get(url("job", "parameters"), {"task": GREET, "job": job.pk}).status_code == 403
    assert (
        staff("change_job", username="editor").get(url("job", "parameters"), {"task": GREET, "job": job.pk}).status_code
        == 200
    )


# Without JavaScript the fields of the chosen function come when the form is saved.


def test_a_function_whose_fields_were_not_shown_is_not_saved_but_shown(admin_client):
    response = admin_client.post(url("job", "add"), {"name": "New", "task": GREET, "is_enabled": "on"})
    html = response.content.decode()
    assert response.status_code == 200
    assert "Check them and save again." in html
    assert "Expected text" in html or "required" in html
    assert not Job.objects.exists()
    assert admin_client.post(url("job", "add"), filled_in(html) | {"parameter-name": "Ada"}).status_code == 302
    assert Job.objects.get().arguments == {"name": "Ada"}


def test_defaults_that_were_never_shown_are_not_taken_for_empty_fields(admin_client, defaults):
    response = admin_client.post(url("job", "add"), {"name": "New", "task": defaults.name, "is_enabled": "on"})
    assert response.status_code == 200
    sent = filled_in(response.content.decode())
    assert sent["parameter-name"] == ["Bob"]
    assert admin_client.post(url("job", "add"), sent).status_code == 302
    assert Job.objects.get().arguments == {}


def test_what_was_typed_under_the_same_name_is_kept(admin_client, job, defaults):
    sent = job_fields(defaults.name, shown_for=GREET, parameter__name="Cleo")
    response = admin_client.post(url("job", "change", job.pk), sent)
    again = filled_in(response.content.decode())
    assert again["parameter-name"] == ["Cleo"]
    assert "parameter-times" not in again
    assert admin_client.post(url("job", "change", job.pk), again).status_code == 302
    job.refresh_from_db()
    assert (job.task, job.arguments) == (defaults.name, {"name": "Cleo"})


def test_a_function_without_parameters_is_saved_at_once(admin_client):
    sent = {"name": "New", "task": "tests.tasks.admin_single", "is_enabled": "on"}
    assert admin_client.post(url("job", "add"), sent).status_code == 302
    assert Job.objects.get().arguments == {}
