"""Queues in the admin: paused and resumed, with a reason, and never edited or deleted."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.core.states import State
from jobs.lifecycle import pause
from jobs.models import AuditEntry, Queue
from tests.admin.support import act, make_run, page, told, url
from tests.database import in_one_spelling


@pytest.fixture
def queues(db) -> list[Queue]:
    return [Queue.objects.create(name=name) for name in ("mail", "slow")]


def test_the_list_tells_who_paused_what_and_how_much_waits(admin_client, queues):
    pause("mail", reason="The server is full", actor="Ada")
    for state in State:
        make_run(state, queue="mail")
    html = page(admin_client, url("queue"))
    for text in ("mail", "paused", "The server is full", "Ada", "slow", "open"):
        assert text in html
    counts = {queue.name: queue.waiting_count for queue in admin_client.get(url("queue")).context["cl"].result_list}
    assert counts == {"mail": 3, "slow": 0}


def test_what_waits_is_counted_in_one_query(admin_client, queues):
    with CaptureQueriesContext(connection) as captured:
        page(admin_client, url("queue"))
    assert len([query for query in captured if '"jobs_run"' in in_one_spelling(query["sql"])]) == 1


def test_pausing_with_a_reason(admin_client, admin_user, queues):
    response = act(admin_client, "queue", "pause_selected", *queues, reason="The server is full")
    assert told(response) == ["The selected queues are paused."]
    for queue in Queue.objects.all():
        assert (queue.is_paused, queue.paused_reason, queue.paused_by_name) == (True, "The server is full", "admin")
        assert queue.paused_at is not None
    entries = AuditEntry.objects.values_list("verb", "object_name", "note", "actor_key")
    assert sorted(entries) == [
        ("pause", "mail", "The server is full", str(admin_user.pk)),
        ("pause", "slow", "The server is full", str(admin_user.pk)),
    ]


def test_a_reason_that_is_too_long(admin_client, queues):
    response = act(admin_client, "queue", "pause_selected", *queues, reason="x" * 201)
    assert "at most 200 characters" in told(response)[0]
    assert not Queue.objects.filter(is_paused=True).exists()


def test_resuming(admin_client, queues):
    pause("mail", reason="full")
    act(admin_client, "queue", "resume_selected", *queues, reason="empty again")
    assert not Queue.objects.filter(is_paused=True).exists()
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_name, entry.note, entry.actor_name) == ("resume", "mail", "empty again", "admin")


def test_a_queue_is_paused_by_its_name(admin_client):
    response = admin_client.post(url("queue", "add"), {"name": "new one", "paused_reason": "later"})
    assert response.status_code == 302
    queue = Queue.objects.get()
    assert (queue.name, queue.is_paused, queue.paused_reason, queue.paused_by_name) == (
        "new one",
        True,
        "later",
        "admin",
    )
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_id, entry.note) == ("pause", str(queue.pk), "later")


def test_pausing_by_name_pauses_one_that_was_resumed(admin_client, queues):
    assert admin_client.post(url("queue", "add"), {"name": "mail", "paused_reason": ""}).status_code == 302
    assert Queue.objects.get(name="mail").is_paused
    assert Queue.objects.count() == 2


@pytest.mark.parametrize(
    ("field", "text"), [("name", ""), ("name", "q" * 101), ("name", "a\x00b"), ("paused_reason", "r" * 201)]
)
def test_a_name_or_reason_that_cannot_be(admin_client, field, text):
    response = admin_client.post(url("queue", "add"), {"name": "mail", "paused_reason": "", field: text})
    assert set(response.context["adminform"].form.errors) == {field}
    assert not Queue.objects.exists()
    assert not AuditEntry.objects.exists()


def test_known_queues_are_suggested(admin_client, queues):
    html = page(admin_client, url("queue", "add"))
    for name in ("default", "mail", "slow"):
        assert f'<option value="{name}">' in html


def test_no_queue_is_edited_or_deleted(admin_client, queues):
    queue = queues[0]
    for address, data in (
        (url("queue", "change", queue.pk), {"name": "other", "paused_reason": "x"}),
        (url("queue", "delete", queue.pk), {"post": "yes"}),
    ):
        assert admin_client.post(address, data).status_code == 403
    assert act(admin_client, "queue", "delete_selected", queue, post="yes").status_code == 403
    assert Queue.objects.values_list("name", "is_paused").get(pk=queue.pk) == ("mail", False)
    assert 'name="_save"' not in page(admin_client, url("queue", "change", queue.pk))
