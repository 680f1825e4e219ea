"""Deleting a user deletes nothing of what that person did, and announces nothing of it."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from jobs.core.states import State
from jobs.lifecycle import enqueue_job, pause
from jobs.models import AuditEntry, Job, Queue, Run
from jobs.testing import drain
from tests.admin.support import make_run, page, url


@pytest.fixture
def leaver(db) -> User:
    return User.objects.create_user("leaver", is_staff=True)


@pytest.fixture
def traces(leaver) -> dict:
    """What the person left: ended, running and queued runs, jobs, a paused queue."""
    jobs = [Job.objects.create(name=f"Job {number}", task="tests.tasks.admin_single") for number in range(3)]
    enqueue_job(jobs[0], actor=leaver)
    mine = {"submitted_by_key": str(leaver.pk), "submitted_by_name": "leaver"}
    for _ in range(10):
        make_run(State.SUCCEEDED, **mine)
    make_run(State.RUNNING, **mine)
    pause("mail", actor=leaver)
    return tables()


def tables() -> dict:
    return {model: list(model.objects.order_by("pk").values()) for model in (Run, Job, Queue, AuditEntry)}


def test_the_confirmation_lists_nothing_of_the_app(admin_client, leaver, traces):
    context = admin_client.get(reverse("admin:auth_user_delete", args=[leaver.pk])).context
    assert not context["perms_lacking"]
    assert not context["protected"]
    assert not [name for name, _ in context["model_count"] if name not in ("users", "user-permission relationships")]
    html = page(admin_client, reverse("admin:auth_user_delete", args=[leaver.pk]))
    assert "/jobs/" not in html.partition('id="content"')[2]


def test_everything_stays(admin_client, leaver, traces):
    address = reverse("admin:auth_user_delete", args=[leaver.pk])
    assert admin_client.post(address, {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=leaver.pk).exists()
    assert tables() == traces
    assert len(traces[Run]) == 12
    assert len(traces[AuditEntry]) == 2


def test_all_at_once_from_the_list_and_by_queryset(admin_client, leaver, traces):
    other = User.objects.create_user("other")
    data = {"action": "delete_selected", "_selected_action": [leaver.pk], "post": "yes"}
    admin_client.post(reverse("admin:auth_user_changelist"), data)
    User.objects.filter(pk=other.pk).delete()
    assert not User.objects.filter(pk__in=[leaver.pk, other.pk]).exists()
    assert tables() == traces


def test_what_waited_still_runs_and_keeps_the_name(admin_client, leaver, traces):
    leaver.delete()
    drain()
    run = Run.objects.get(task="tests.tasks.admin_single")
    assert (run.state, run.submitted_by_name) == (State.SUCCEEDED, "leaver")
    assert "leaver" in page(admin_client, url("run", "change", run.pk))
    assert "leaver" in page(admin_client, url("auditentry"))
