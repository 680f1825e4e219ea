"""Who did what."""

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError

from jobs.lifecycle import audit, enqueue, enqueue_many
from jobs.models import AuditEntry, Run
from jobs.options import Options
from tests.lifecycle.support import ended, stored
from tests.tasks import lifecycle_add

pytestmark = pytest.mark.django_db


def cancel(actor, note=""):
    stored().cancel(actor=actor, note=note)


def run_again(actor, note=""):
    ended().run_again(actor=actor, note=note)


verbs = pytest.mark.parametrize("verb", [cancel, run_again])


@verbs
def test_nobody_leaves_nothing(verb, django_assert_max_num_queries):
    verb(None, note="ignored")
    assert not AuditEntry.objects.exists()


@verbs
def test_a_text(verb, clock):
    verb("nightly import", note="stale")
    entry = AuditEntry.objects.values("actor_key", "actor_name", "note", "at").get()
    assert entry == {"actor_key": "", "actor_name": "nightly import", "note": "stale", "at": clock.now()}


@verbs
def test_a_user_stays_named_when_the_account_is_gone(verb):
    ann = User.objects.create(username="ann")
    key = str(ann.pk)
    verb(ann)
    ann.delete()
    entry = AuditEntry.objects.get()
    assert (entry.actor_key, entry.actor_name, entry.note) == (key, "ann", None)


class TestEnqueue:
    def test_one(self, clock):
        ann = User.objects.create(username="ann")
        run = enqueue(lifecycle_add, {"a": 1}, Options(), actor=ann, note="by hand")
        run.refresh_from_db()
        assert (run.submitted_by_key, run.submitted_by_name) == (str(ann.pk), "ann")
        entry = AuditEntry.objects.get()
        assert (entry.verb, entry.object_type, entry.object_id) == ("enqueue", "run", str(run.pk))
        assert (entry.actor_name, entry.note, entry.at) == ("ann", "by hand", clock.now())

    def test_many(self):
        runs = enqueue_many(lifecycle_add, [{"a": 1}, {"a": 2}], Options(), actor="import", note="n")
        assert list(Run.objects.values_list("submitted_by_name", flat=True)) == ["import", "import"]
        entries = AuditEntry.objects.order_by("id").values_list("object_id", "actor_name", "note")
        assert list(entries) == [(str(run.pk), "import", "n") for run in runs]

    def test_nobody(self):
        run = enqueue(lifecycle_add, {"a": 1}, Options(), note="ignored")
        enqueue_many(lifecycle_add, [{"a": 1}], Options(), note="ignored")
        assert (run.submitted_by_key, run.submitted_by_name) == ("", "")
        assert not AuditEntry.objects.exists()

    def test_no_entry_without_its_run(self, refuse):
        refuse("TRUE", event="INSERT")
        for verb, given in ((enqueue, {"a": 1}), (enqueue_many, [{"a": 1}])):
            with pytest.raises(DatabaseError):
                verb(lifecycle_add, given, Options(), actor="ann")
        assert not AuditEntry.objects.exists()

    def test_no_run_without_its_entry(self, refuse):
        refuse("TRUE", table="jobs_auditentry", event="INSERT")
        for verb, given in ((enqueue, {"a": 1}), (enqueue_many, [{"a": 1}])):
            with pytest.raises(DatabaseError):
                verb(lifecycle_add, given, Options(), actor="ann")
        assert not Run.objects.exists()


def test_a_long_name_is_cut():
    cancel("x" * 1000)
    assert len(AuditEntry.objects.get().actor_name) == 150


def test_many_objects_in_one_statement(django_assert_num_queries):
    runs = [stored(job_name=f"Job {n}") for n in range(3)]
    with django_assert_num_queries(1):
        audit.record_many("cancel", runs, actor="ann", note="", reason="x")
    entries = AuditEntry.objects.order_by("id").values_list("object_id", "object_name", "details_json")
    assert list(entries) == [(str(run.pk), f"Job {n} #{run.pk}", '{"reason": "x"}') for n, run in enumerate(runs)]


def test_who_is_who():
    assert audit.identify(None) == ("", "")
    assert audit.identify("cron") == ("", "cron")
    assert audit.identify(User(pk=7, username="ann")) == ("7", "ann")
