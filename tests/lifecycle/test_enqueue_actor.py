"""Whoever asks for a run is remembered with it."""

import pytest

from jobs.lifecycle import enqueue, enqueue_many
from jobs.models import AuditEntry, Run
from jobs.registry import registry

pytestmark = pytest.mark.django_db


@pytest.fixture
def task():
    return registry.get("tests.tasks.lifecycle_note")


def test_an_actor_leaves_a_name_and_an_audit_row(task, django_user_model):
    user = django_user_model.objects.create_user("ada")
    run = enqueue(task, {"what": 1}, task.options, actor=user, note="asked by phone")
    run.refresh_from_db()
    entry = AuditEntry.objects.get()
    assert (run.submitted_by_key, run.submitted_by_name) == (str(user.pk), "ada")
    assert (entry.verb, entry.object_id) == ("enqueue", str(run.pk))
    assert (entry.actor_name, entry.note) == ("ada", "asked by phone")


def test_of_many_runs_each_has_its_own(task):
    runs = enqueue_many(task, [{"what": 1}, {"what": 2}], task.options, actor="nightly import")
    assert set(Run.objects.values_list("submitted_by_name", flat=True)) == {"nightly import"}
    assert list(AuditEntry.objects.order_by("id").values_list("object_id", flat=True)) == [str(run.pk) for run in runs]


def test_without_an_actor_there_is_none(task):
    enqueue(task, {"what": 1}, task.options)
    assert not AuditEntry.objects.exists()
