"""What people do to stored definitions, and what the audit log says of it."""

import json

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobs.lifecycle import definitions, enqueue_job, set_enabled
from jobs.models import AuditEntry, Job
from jobs.testing import drain
from tests.lifecycle.support import fresh

pytestmark = pytest.mark.django_db


def new_job(**changes) -> Job:
    given = {"name": "Sum", "task": "tests.tasks.lifecycle_add", "arguments_json": '{"a":1}'}
    return Job(**given | changes)


@pytest.fixture
def job(clock) -> Job:
    made = new_job()
    definitions.save(made)
    return made


def the_entry() -> AuditEntry:
    return AuditEntry.objects.get()


def test_a_new_job(clock):
    ann = User.objects.create(username="ann")
    made = new_job()
    definitions.save(made, fields=["name"], parameters=["a"], actor=ann, note="asked for")
    stored = Job.objects.get()
    assert (stored.name, stored.created_at, stored.updated_at) == ("Sum", clock.now(), clock.now())
    entry = the_entry()
    assert (entry.verb, entry.object_type, entry.object_id, entry.object_name) == ("add", "job", str(made.pk), "Sum")
    assert (entry.actor_key, entry.note, entry.details_json) == (str(ann.pk), "asked for", None)


def test_a_changed_job_names_what_was_changed_and_no_values(job, clock):
    clock.move(60)
    job.priority, job.arguments_json = 5, '{"a":777}'
    definitions.save(job, fields=["priority"], parameters=["a"], actor="ann")
    stored = Job.objects.get()
    assert (stored.priority, stored.arguments) == (5, {"a": 777})
    assert (stored.updated_at - stored.created_at).total_seconds() == 60
    entry = the_entry()
    assert (entry.verb, json.loads(entry.details_json)) == ("change", {"fields": ["priority"], "parameters": ["a"]})
    assert "777" not in entry.details_json


def test_what_was_not_changed_is_not_named(job):
    definitions.save(job, parameters=["a"], actor="ann")
    assert json.loads(the_entry().details_json) == {"parameters": ["a"]}


def test_a_change_that_changed_nothing_leaves_no_entry(job):
    definitions.save(job, actor="ann")
    assert not AuditEntry.objects.exists()


def test_a_deleted_job_keeps_its_history(job):
    run = enqueue_job(job)
    number = job.pk
    definitions.delete(job, actor="ann", note="no longer needed")
    assert not Job.objects.exists()
    assert (fresh(run).job_id, fresh(run).job_name) == (number, "Sum")
    entry = the_entry()
    assert (entry.verb, entry.object_id, entry.object_name, entry.note) == (
        "delete", str(number), "Sum", "no longer needed",
    )  # fmt: skip


def test_disabled_and_enabled(job, clock):
    clock.move(60)
    assert set_enabled(job, False, actor="ann", note="broken")
    assert (job.is_enabled, Job.objects.get().is_enabled, Job.objects.get().updated_at) == (False, False, clock.now())
    assert set_enabled(job, True, actor="bob")
    assert Job.objects.get().is_enabled
    entries = AuditEntry.objects.order_by("pk").values_list("verb", "actor_name", "note")
    assert list(entries) == [("disable", "ann", "broken"), ("enable", "bob", None)]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_what_is_so_already_is_left_alone(job, clock, is_enabled):
    Job.objects.update(is_enabled=is_enabled)
    before = Job.objects.values().get()
    clock.move(60)
    assert not set_enabled(job, is_enabled, actor="ann")
    assert Job.objects.values().get() == before
    assert not AuditEntry.objects.exists()


def test_the_row_decides_not_the_instance(job):
    stale = Job.objects.get()
    set_enabled(job, False)
    assert stale.is_enabled
    assert not set_enabled(stale, False, actor="ann")
    assert not stale.is_enabled
    assert not AuditEntry.objects.exists()


def test_only_whether_it_is_enabled_is_written(job):
    """What somebody else has changed in the meantime stays."""
    stale = Job.objects.get()
    Job.objects.update(priority=9)
    set_enabled(stale, False)
    assert (Job.objects.get().priority, Job.objects.get().is_enabled) == (9, False)


def test_a_job_that_is_gone():
    job = new_job()
    job.save()
    Job.objects.all().delete()
    job.pk = 1
    with pytest.raises(Job.DoesNotExist):
        set_enabled(job, False, actor="ann")
    assert not AuditEntry.objects.exists()


def test_runs_of_a_disabled_job_go_on(job):
    run = enqueue_job(job)
    set_enabled(job, False)
    drain()
    assert fresh(run).state == "succeeded"


def test_rolled_back_with_the_callers_transaction(job):
    with transaction.atomic():
        set_enabled(job, False, actor="ann")
        transaction.set_rollback(True)
    assert Job.objects.get().is_enabled
    assert not AuditEntry.objects.exists()
