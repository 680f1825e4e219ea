"""Queues that people pause and resume."""

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobs.lifecycle import known_queues, pause, resume
from jobs.models import AuditEntry, Job, Queue
from jobs.testing import drain
from tests.lifecycle.support import fresh, stored
from tests.tasks import lifecycle_add

pytestmark = pytest.mark.django_db


def test_what_waits_in_a_paused_queue_does_not_start(notes):
    mail, other = stored(queue="mail"), stored(queue="other")
    pause("mail")
    drain()
    assert (fresh(mail).state, fresh(other).state) == ("queued", "succeeded")
    assert resume("mail")
    drain()
    assert fresh(mail).state == "succeeded"


def test_the_row_says_who_when_and_why(clock):
    ann = User.objects.create(username="ann")
    queue = pause("mail", reason="the server moves", actor=ann, note="ticket 5")
    assert (queue.is_paused, queue.paused_reason, queue.paused_by_name) == (True, "the server moves", "ann")
    assert Queue.objects.values().get() == {
        "id": queue.pk, "name": "mail", "is_paused": True, "paused_reason": "the server moves",
        "paused_by_name": "ann", "paused_at": clock.now(),
    }  # fmt: skip
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_type, entry.object_id, entry.object_name) == (
        "pause", "queue", str(queue.pk), "mail",
    )  # fmt: skip
    assert (entry.actor_key, entry.note) == (str(ann.pk), "ticket 5")


def test_without_a_note_the_reason_is_kept_in_the_audit_log():
    pause("mail", reason="full", actor="ann")
    assert AuditEntry.objects.get().note == "full"


def test_paused_again_it_has_the_last_reason(clock):
    pause("mail", reason="first", actor="ann")
    clock.move(60)
    pause("mail", reason="second", actor="bob")
    row = Queue.objects.get()
    assert (row.paused_reason, row.paused_by_name, row.paused_at) == ("second", "bob", clock.now())
    assert AuditEntry.objects.count() == 2


def test_resuming_leaves_nothing_of_the_pause():
    pause("mail", reason="full", actor="ann")
    assert resume("mail", actor="bob", note="empty again")
    row = Queue.objects.get()
    assert (row.is_paused, row.paused_reason, row.paused_by_name, row.paused_at) == (False, "", "", None)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.actor_name, entry.note) == ("resume", "bob", "empty again")


@pytest.mark.parametrize("name", ["mail", "unknown", "", "x" * 500])
def test_resuming_what_is_not_paused_does_nothing(name, wakes, django_capture_on_commit_callbacks):
    Queue.objects.create(name="mail")
    with django_capture_on_commit_callbacks(execute=True):
        assert not resume(name, actor="ann")
    assert not AuditEntry.objects.exists()
    assert wakes == []


def test_resuming_wakes_the_dispatcher(wakes, django_capture_on_commit_callbacks):
    pause("mail")
    with django_capture_on_commit_callbacks(execute=True):
        resume("mail")
    assert wakes == ["wake"]


def test_without_an_actor_nothing_is_audited():
    pause("mail")
    resume("mail")
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("name", ["", "x" * 101, "a\x00b", "\ud800", None, 5])
def test_what_is_no_name_of_a_queue(name):
    with pytest.raises(ValueError, match="queue must be a text of 1 to 100 characters"):
        pause(name)
    assert not Queue.objects.exists()


def test_a_reason_that_is_too_long():
    pause("mail", reason="x" * 200)
    with pytest.raises(ValueError, match="at most 200 characters, got 201"):
        pause("mail", reason="x" * 201, actor="ann")
    assert Queue.objects.get().paused_reason == "x" * 200
    assert not AuditEntry.objects.exists()


def test_rolled_back_with_the_callers_transaction():
    with transaction.atomic():
        pause("mail", actor="ann")
        transaction.set_rollback(True)
    assert not Queue.objects.exists()
    assert not AuditEntry.objects.exists()


def test_queues_that_somebody_has_named():
    Job.objects.create(name="With", task="tests.tasks.lifecycle_add", queue="of a job")
    Job.objects.create(name="Without", task="tests.tasks.lifecycle_add")
    Queue.objects.create(name="of a row")
    stored(queue="only in history")
    names = known_queues()
    assert names == sorted(set(names))
    assert {"of a job", "of a row", "side", lifecycle_add.options.queue} <= set(names)
    assert "only in history" not in names
    assert "" not in names


def test_known_queues_take_two_statements(django_assert_num_queries):
    for number in range(30):
        stored(queue=f"q{number}")
    with django_assert_num_queries(2):
        known_queues()
