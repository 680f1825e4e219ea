"""Every action of an operator leaves an audit row, and the rows can be read."""

import json

import pytest

from jobs.core.states import State
from jobs.lifecycle.audit import record
from jobs.models import AuditEntry, Job, Queue
from tests.admin.support import act, filled_in, job_fields, make_run, page, url


@pytest.fixture
def job(db) -> Job:
    return Job.objects.create(name="Greeting", task="tests.tasks.admin_greet", arguments_json='{"name":"Ada"}')


def entries() -> list[tuple]:
    return list(AuditEntry.objects.order_by("pk").values_list("verb", "object_name", "actor_name"))


def details() -> dict:
    return json.loads(AuditEntry.objects.get().details_json)


def test_adding_a_job(admin_client, admin_user):
    admin_client.post(url("job", "add"), job_fields())
    assert entries() == [("add", "Greeting", "admin")]
    entry = AuditEntry.objects.get()
    assert (entry.actor_key, entry.object_type) == (str(admin_user.pk), "job")
    assert entry.object_id == str(Job.objects.get().pk)


def test_changing_a_job_names_what_was_changed_and_tells_no_value(admin_client, job):
    changes = {"priority": "-97", "parameter__times": "987654321", "parameter__name": "Secretive"}
    admin_client.post(url("job", "change", job.pk), job_fields(**changes))
    assert entries() == [("change", "Greeting", "admin")]
    assert details() == {"fields": ["priority"], "parameters": ["name", "times"]}
    for address in (url("auditentry"), url("job", "history", job.pk)):
        html = page(admin_client, address)
        assert not any(value in html for value in changes.values())


@pytest.mark.parametrize(
    ("before", "typed", "changed"),
    [
        ('{"name":"Ada"}', {"parameter__name": "Ada"}, False),
        ('{"name":"Ada","times":1}', {"parameter__times": "1"}, False),
        ('{"name":"Ada","options":{"a":1}}', {"parameter__options": '{"a": true}'}, True),
        ('{"name":"Ada","options":{"a":1}}', {"parameter__options": '{"a": 1.0}'}, True),
    ],
)
def test_what_is_a_change(admin_client, job, before, typed, changed):
    Job.objects.update(arguments_json=before)
    admin_client.post(url("job", "change", job.pk), job_fields(**typed))
    assert AuditEntry.objects.exists() is changed


def test_saving_what_is_there_leaves_no_row(admin_client, job):
    html = page(admin_client, url("job", "change", job.pk))
    assert admin_client.post(url("job", "change", job.pk), filled_in(html)).status_code == 302
    assert entries() == []


def test_a_refused_change_leaves_no_row(admin_client, job):
    admin_client.post(url("job", "change", job.pk), job_fields(parameter__times="x"))
    assert entries() == []


def test_deleting_one_job_and_several(admin_client, job):
    others = [Job.objects.create(name=name, task="tests.tasks.admin_greet") for name in ("A", "B")]
    admin_client.post(url("job", "delete", job.pk), {"post": "yes"})
    act(admin_client, "job", "delete_selected", *others, post="yes")
    assert entries() == [("delete", "Greeting", "admin"), ("delete", "A", "admin"), ("delete", "B", "admin")]
    assert not Job.objects.exists()


def test_enabling_and_disabling(admin_client, job):
    act(admin_client, "job", "enable", job)
    assert entries() == []
    act(admin_client, "job", "disable", job)
    act(admin_client, "job", "disable", job)
    act(admin_client, "job", "enable", job)
    assert entries() == [("disable", "Greeting", "admin"), ("enable", "Greeting", "admin")]


def test_what_is_still_there_is_linked(admin_client, job):
    run, queue = make_run(State.FAILED), Queue.objects.create(name="mail")
    for target in (run, job, queue):
        record("change", target, actor="Ada", note="")
    record("cancel", Job(pk=999, name="Gone"), actor="Ada", note="")
    record("cancel", Job(pk="no number", name="Odd"), actor="Ada", note="")
    html = page(admin_client, url("auditentry"))
    for target in (run, job, queue):
        address = url(target._meta.model_name, "change", target.pk)
        assert f'<a href="{address}">{target}</a>' in html
    for name in ("Gone", "Odd"):
        assert name in html
        assert f">{name}</a>" not in html
    for entry in AuditEntry.objects.all():
        assert page(admin_client, url("auditentry", "change", entry.pk))


def test_only_what_this_person_may_look_at_is_linked(staff, job):
    record("change", job, actor="Ada", note="")
    assert "/jobs/job/" not in page(staff("view_auditentry"), url("auditentry"))
    assert "/jobs/job/" in page(staff("view_auditentry", "view_job", username="viewer"), url("auditentry"))


@pytest.mark.parametrize("text", ["[1]", "{", "null", '"x"'])
def test_details_that_are_no_object(admin_client, job, text):
    record("change", job, actor="Ada", note="")
    AuditEntry.objects.update(details_json=text)
    assert page(admin_client, url("auditentry"))
    assert page(admin_client, url("auditentry", "change", AuditEntry.objects.get().pk))


def test_secrets_in_details_are_masked(admin_client, job):
    record("change", job, actor="Ada", note="", api_key="s3cr3t", fields=[{"password": "s3cr3t"}], run=5)
    for address in (url("auditentry"), url("auditentry", "change", AuditEntry.objects.get().pk)):
        html = page(admin_client, address)
        assert "run: 5" in html
        assert "s3cr3t" not in html


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"verb": "run"}, {"run"}),
        ({"verb": "run again"}, {"run again"}),
        ({"object_type": "job"}, {"run"}),
        ({"q": "Gre"}, {"run"}),
    ],
)
def test_filters(admin_client, job, parameters, expected):
    record("run", job, actor="Ada", note="")
    record("run again", Queue(pk=1, name="mail"), actor="Ada", note="")
    found = admin_client.get(url("auditentry"), parameters).context["cl"].result_list
    assert {entry.verb for entry in found} == expected
