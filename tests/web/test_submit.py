"""Submitting runs: what is wrong is told and kept as typed, what is right is stored once."""

import json
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

import jobs
from jobs.core.states import State
from jobs.models import AuditEntry, Job, Run
from jobs.registry import registry
from jobs.testing import drain
from tests import tasks
from tests.admin.support import filled_in
from tests.web.support import TASK, Page, failed_with, make_job, make_run, opened, submitted, tables, told, url

SECRET_TASK = "tests.tasks.admin_with_secret"


def fields(page: Page) -> dict:
    return {each["name"]: each.get("value") for each in page.all("input") if each.get("name")}


@pytest.fixture
def address(db) -> str:
    return url("submit_task", TASK)


def test_the_functions_to_choose_from(operator):
    page = opened(operator, url("submit"))
    assert {url("submit_task", task.name) for task in registry} <= page.links
    assert "Greet somebody by name." in page.text


def test_a_site_without_functions_says_what_to_do(operator, monkeypatch):
    monkeypatch.setattr(registry, "_tasks", {})
    assert "No function is registered. Decorate one" in opened(operator, url("submit")).text


def test_the_form_of_a_function(operator, address):
    page = opened(operator, address)
    assert "Greet somebody by name." in page.text
    found = fields(page)
    assert found["parameter-name"] is None
    assert (found["parameter-times"], found["run-priority"], found["run-queue"]) == ("1", "4", "default")
    for attributes in page.all("input"):
        if attributes.get("aria-describedby"):
            assert page.by_id(attributes["aria-describedby"])


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"parameter__times": "many"}, "parameter-times"),
        ({"parameter__name": ""}, "parameter-name"),
        ({"parameter__options": "{"}, "parameter-options"),
        ({"run__priority": "101"}, "run-priority"),
        ({"run__priority": ""}, "run-priority"),
        ({"run__queue": ""}, "run-queue"),
        ({"run__queue": "x" * 101}, "run-queue"),
        ({"run__run_after": "tomorrow"}, "run-run_after"),
        ({"run__unique_key": "x" * 256}, "run-unique_key"),
        ({"run__note": "x" * 501}, "run-note"),
    ],
)
def test_a_wrong_value_is_named_and_all_that_was_typed_is_kept(operator, address, changes, wrong):
    before = tables("jobs")
    typed = submitted(**{"parameter__name": "Grace", "run__note": "by hand", "run__priority": "7"} | changes)
    response = operator.post(address, typed)
    assert response.status_code == 422
    page = Page(response.content.decode())
    marked = [attributes for _, attributes in page.elements if attributes.get("aria-invalid") == "true"]
    assert [each["name"] for each in marked] == [wrong]
    if "aria-describedby" in marked[0]:
        assert all(page.by_id(each) for each in marked[0]["aria-describedby"].split())
    shown = fields(page)
    for name in ("parameter-name", "parameter-times", "run-note", "run-priority", "run-queue", "run-unique_key"):
        assert shown[name] == typed.get(name, shown[name]) or (not shown[name] and not typed[name]), name
    assert tables("jobs") == before
    is_option = wrong.startswith("run-")
    assert ["open" in each for each in page.all("details")] == [is_option]


def test_a_wrong_value_names_the_parameter(operator, address):
    page = Page(operator.post(address, submitted(parameter__times="many")).content.decode())
    assert "Expected a whole number" in page.text
    assert "many" in page.text
    (label,) = [each for each in page.all("label") if each["for"] == "id_parameter-times"]
    assert label


def test_the_right_values_store_one_run_with_all_that_was_said(operator, address):
    response = operator.post(
        address,
        submitted(
            parameter__name="Grace", parameter__times="3", parameter__options='{"loud": true}', run__priority="-5",
            run__queue="mail", run__run_after="2099-01-02 03:04", run__unique_key="k", run__note="by hand",
        ),
    )  # fmt: skip
    run = Run.objects.get()
    assert response.url == url("run", run.pk)
    assert run.arguments == {"name": "Grace", "times": 3, "options": {"loud": True}}
    assert (run.priority, run.queue, run.unique_key) == (-5, "mail", "k")
    assert (run.state, run.due_at) == (State.SCHEDULED, datetime(2099, 1, 2, 3, 4, tzinfo=UTC))
    assert (run.submitted_by_key, run.submitted_by_name) == (str(operator.user.pk), "operator")
    assert (run.job_id, run.rerun_of_id) == (None, None)
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_id, entry.actor_name, entry.note) == (
        "enqueue", str(run.pk), "operator", "by hand",
    )  # fmt: skip


def test_who_may_only_run_jobs_sees_what_they_have_submitted(person, address):
    client = person("run_job")
    response = client.post(address, submitted(), follow=True)
    assert response.status_code == 200
    assert f"#{Run.objects.get().pk}" in response.content.decode()


def test_a_default_that_is_left_is_not_stored(operator, address):
    operator.post(address, submitted())
    assert Run.objects.get().arguments == {"name": "Ada"}


def test_a_unique_key_that_is_held(operator, address):
    holder = tasks.admin_greet.using(unique_key="k").enqueue("Ada")
    response = operator.post(address, submitted(run__unique_key="k"))
    assert response.url == url("run", holder.pk)
    assert told(response) == [f"Nothing was stored: run {holder.pk} is unfinished and holds this unique key."]
    assert Run.objects.count() == 1


def test_a_unique_key_held_by_a_run_that_this_person_may_not_see(person, address):
    client = person("run_job")
    tasks.admin_greet.using(unique_key="k").enqueue("Ada")
    response = client.post(address, submitted(run__unique_key="k"))
    assert response.url == url("runs")
    assert "Nothing was stored" in told(response)[0]
    assert client.get(response.url).status_code == 200


@pytest.mark.parametrize(
    "name", ["os.system", "subprocess.run", "builtins.eval", "tests.tasks.time.sleep", "tests.tasks.os._exit",
             "django.core.management.call_command", "../../etc/passwd", "a/b/c", "tests.tasks.admin_greet/", "%2e%2e",
             "tests.tasks", "", "x" * 1000, "tests.tasks.ADMIN_GREET", " tests.tasks.admin_greet"],
)  # fmt: skip
def test_only_registered_functions_can_be_run(operator, name, monkeypatch):
    monkeypatch.setattr("importlib.import_module", lambda *args: pytest.fail("a name was imported"))
    before = tables("jobs")
    for method in (operator.get, operator.post):
        response = method(f"/jobs/submit/{name}/", submitted(parameter__command="touch /tmp/x", command="x"))
        assert response.status_code == 404
    assert tables("jobs") == before


def test_a_name_that_holds_slashes_is_a_name(operator):
    task = jobs.register(_nothing, name="mail/send it/ü")
    try:
        response = operator.post(url("submit_task", task.name), {"run-priority": "0", "run-queue": "q"})
        assert response.status_code == 302
        assert Run.objects.get().task == "mail/send it/ü"
        assert url("submit_task", task.name) in opened(operator, url("submit")).links
    finally:
        registry.discard(task.name)


def _nothing(): ...


def test_a_function_that_was_changed_by_sql_runs_nothing(operator, tmp_path):
    """The pages offer no run of it, a hand-made POST stores none, and a worker that finds one fails it."""
    job = make_job(task="os.system", arguments_json=json.dumps({"command": f"touch {tmp_path}/x"}))
    assert url("job_run", job.pk) not in opened(operator, url("jobs")).links
    page = opened(operator, url("job", job.pk))
    assert url("job_run", job.pk) not in page.links
    assert "not registered" in page.text
    for method in (operator.get, operator.post):
        response = method(url("job_run", job.pk), submitted())
        assert response.url == url("job", job.pk)
        assert "'os.system' is not registered" in told(response)[-1]
    assert not Run.objects.exists()
    ended = make_run(State.FAILED, task="os.system", arguments_json=job.arguments_json)
    assert operator.post(url("run_edit", ended.pk), submitted()).url == url("run", ended.pk)
    assert Run.objects.count() == 1
    operator.post(url("run_again", ended.pk))
    drain()
    again = Run.objects.latest("pk")
    assert (again.state, again.reason_code) == (State.FAILED, "not_registered")
    assert not list(tmp_path.iterdir())


def test_a_job_with_its_parameters_and_options(operator):
    job = make_job(arguments_json='{"name":"Ada","times":3}', priority=9, queue="mail")
    shown = fields(opened(operator, url("job_run", job.pk)))
    assert (shown["parameter-name"], shown["parameter-times"]) == ("Ada", "3")
    assert (shown["run-priority"], shown["run-queue"]) == ("9", "mail")
    operator.post(url("job_run", job.pk), submitted(parameter__times="3", run__priority="9", run__queue="mail"))
    run = Run.objects.get()
    assert (run.job_id, run.job_name, run.arguments) == (job.pk, "Greeting", {"name": "Ada", "times": 3})
    assert (run.priority, run.queue, run.submitted_by_name) == (9, "mail", "operator")


def test_changed_parameters_of_a_job_are_those_of_the_run_alone(operator):
    job = make_job()
    before = Job.objects.values().get()
    operator.post(url("job_run", job.pk), submitted(parameter__name="Grace"))
    assert Run.objects.get().arguments == {"name": "Grace"}
    assert Job.objects.values().get() == before


def test_without_view_arguments_the_parameters_of_a_job_are_fixed_and_unseen(person):
    client = person("view_job", "run_job")
    job = make_job(arguments_json='{"name":"UNSEEN","times":2}')
    page = opened(client, url("job_run", job.pk))
    assert "UNSEEN" not in str(page.elements) + page.text
    assert "You may not see them." in page.text
    assert not [name for name in fields(page) if name.startswith("parameter-")]
    client.post(url("job_run", job.pk), submitted(parameter__name="Mallory", parameter__times="99"))
    assert Run.objects.get().arguments == {"name": "UNSEEN", "times": 2}


def test_what_keeps_a_job_from_running_shows_no_values_to_those_who_may_not_see_them(person):
    client = person("view_job", "run_job")
    job = make_job(arguments_json='{"name":"Ada","times":"UNSEEN"}')
    response = client.post(url("job_run", job.pk), submitted())
    assert response.status_code == 422
    assert "UNSEEN" not in response.content.decode()
    assert "The stored parameters of the job do not fit its function." in response.content.decode()
    assert not Run.objects.exists()


def test_a_disabled_job_cannot_be_run(operator):
    job = make_job(is_enabled=False)
    assert url("job_run", job.pk) not in opened(operator, url("jobs")).links
    assert url("job_run", job.pk) not in opened(operator, url("job", job.pk)).links
    assert "This job is disabled." in opened(operator, url("job_run", job.pk)).text
    response = operator.post(url("job_run", job.pk), submitted())
    assert response.status_code == 422
    assert "Enable it before you run it." in response.content.decode()
    assert not Run.objects.exists()


def test_secrets_of_a_job_are_kept_unseen(operator):
    arguments = {"user": "ann", "api_token": "S3CR3T", "more": {"password": "S3CR3T", "plain": 1}}
    job = make_job(task=SECRET_TASK, arguments_json=json.dumps(arguments))
    html = operator.get(url("job_run", job.pk)).content.decode()
    assert "S3CR3T" not in html
    assert "ann" in html
    shown = {"parameter-user": "ann", "parameter-api_token": "", "parameter-more": textarea(html)}
    response = operator.post(url("job_run", job.pk), shown | {"run-priority": "0", "run-queue": "q"})
    assert response.status_code == 302
    assert Run.objects.get().arguments == arguments


def textarea(html: str) -> str:
    return filled_in(html)["parameter-more"][0]


def test_run_again_with_edits(operator):
    old = failed_with("no", priority=3, queue="q", unique_key="k", arguments_json='{"name":"Ada","times":2}')
    before = Run.objects.values().get()
    page = opened(operator, url("run_edit", old.pk))
    shown = fields(page)
    assert (shown["parameter-name"], shown["parameter-times"]) == ("Ada", "2")
    assert (shown["run-priority"], shown["run-queue"], shown["run-unique_key"]) == ("3", "q", "k")
    assert url("run", old.pk) in page.links
    response = operator.post(url("run_edit", old.pk), submitted(parameter__name="Grace", run__priority="1"))
    new = Run.objects.latest("pk")
    assert response.url == url("run", new.pk)
    assert (new.rerun_of_id, new.arguments, new.priority) == (old.pk, {"name": "Grace", "times": 1}, 1)
    assert Run.objects.filter(pk=old.pk).values().get() == before


def test_parameters_that_the_function_has_no_more_are_named(operator):
    old = failed_with("no", arguments_json='{"name":"Ada","gone":1}')
    assert "gone is no parameter of the function any more" in opened(operator, url("run_edit", old.pk)).text
    operator.post(url("run_edit", old.pk), submitted())
    assert Run.objects.latest("pk").arguments == {"name": "Ada"}


@pytest.mark.parametrize("state", [State.QUEUED, State.RUNNING])
def test_an_unfinished_run_is_not_repeated_with_edits(operator, state):
    run = make_run(state)
    for response in (operator.get(url("run_edit", run.pk)), operator.post(url("run_edit", run.pk), submitted())):
        assert response.url == url("run", run.pk)
        message = told(response)[-1]
        assert message.startswith(f"Run {run.pk} is still {state}")
    assert Run.objects.count() == 1
    assert not AuditEntry.objects.exists()


def test_what_a_function_says_of_itself_is_no_template(operator):
    def func(name: str = "{{ request.user }}"): ...

    func.__doc__ = "First {{ 7|add:7 }}.\n\n{% now 'Y' %} {# gone #}\n\n:param name: {{ form }}"
    task = jobs.register(func, name="tests.web.braces", label="{{ messages }}")
    try:
        text = opened(operator, url("submit_task", task.name)).text
        for literal in ("First {{ 7|add:7 }}.", "{% now 'Y' %} {# gone #}", "{{ form }}", "{{ messages }}"):
            assert literal in text
        assert fields(opened(operator, url("submit_task", task.name)))["parameter-name"] == "{{ request.user }}"
    finally:
        registry.discard(task.name)


def test_a_departed_user_leaves_the_runs(operator, person, address):
    """Case A2, through the pages."""
    leaver = person("run_job", username="leaver")
    leaver.post(address, submitted())
    run = Run.objects.get()
    User.objects.get(username="leaver").delete()
    assert "Submitted by leaver" in opened(operator, url("run", run.pk)).text
    drain()
    run.refresh_from_db()
    assert run.state == State.SUCCEEDED
