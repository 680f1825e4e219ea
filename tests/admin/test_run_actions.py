"""The actions of runs: cancel, and run again."""

import pytest

from jobs.core.states import FINAL, WAITING, State
from jobs.models import AuditEntry, Run
from tests import tasks
from tests.admin.support import act, make_run, page, told, url

ALL_BUT = {
    "cancel": ("view_run", "change_run", "delete_run", "rerun_run", "view_arguments", "run_job"),
    "run_again": ("view_run", "change_run", "delete_run", "cancel_run", "view_arguments", "run_job"),
}


def rows() -> list[dict]:
    return list(Run.objects.order_by("pk").values())


@pytest.mark.parametrize("state", sorted(WAITING))
def test_what_waits_is_cancelled(admin_client, state):
    run = make_run(state)
    assert told(act(admin_client, "run", "cancel", run)) == ["1 run was cancelled before the start."]
    run.refresh_from_db()
    assert (run.state, run.reason) == ("cancelled", "Cancelled before it started by admin.")


def test_what_runs_is_asked_to_end(admin_client):
    run = make_run(State.RUNNING)
    answer = "1 run was asked to end, and shows as running until its function does."
    assert told(act(admin_client, "run", "cancel", run)) == [answer]
    run.refresh_from_db()
    assert run.state == "running"
    assert run.cancel_requested_at is not None
    assert AuditEntry.objects.get().verb == "ask to end"


@pytest.mark.parametrize("state", sorted(FINAL))
def test_what_has_ended_stays_as_it_is(admin_client, state):
    run = make_run(state)
    before = rows()
    assert "too late, it has ended" in told(act(admin_client, "run", "cancel", run))[0]
    assert rows() == before
    assert not AuditEntry.objects.exists()


def test_each_kind_of_answer_is_counted(admin_client):
    runs = [make_run(state) for state in (State.QUEUED, State.QUEUED, State.RUNNING, State.FAILED)]
    answers = sorted(told(act(admin_client, "run", "cancel", *runs)))
    assert [text.partition(":")[0] for text in answers] == [
        "1 run was asked to end, and shows as running until its function does.",
        "1 run was left alone",
        "2 runs were cancelled before the start.",
    ]


def test_cancelling_is_audited(admin_client, admin_user):
    run = make_run()
    act(admin_client, "run", "cancel", run)
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_type, entry.object_id) == ("cancel", "run", str(run.pk))
    assert (entry.actor_key, entry.actor_name) == (str(admin_user.pk), "admin")


@pytest.mark.parametrize("state", sorted(FINAL))
def test_what_has_ended_runs_again_as_a_new_run(admin_client, admin_user, state):
    run = make_run(state)
    before = rows()
    response = act(admin_client, "run", "run_again", run)
    copy = Run.objects.exclude(pk=run.pk).get()
    assert told(response) == [f"Run {run.pk} runs again as {copy}."]
    assert (copy.state, copy.rerun_of_id, copy.arguments) == ("queued", run.pk, run.arguments)
    assert (copy.submitted_by_key, copy.submitted_by_name) == (str(admin_user.pk), "admin")
    assert rows()[:1] == before
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_id, entry.details_json) == ("run again", str(run.pk), f'{{"run": {copy.pk}}}')


@pytest.mark.parametrize("state", sorted(set(State) - FINAL))
def test_what_is_still_to_end_does_not_run_again(admin_client, state):
    run = make_run(state)
    before = rows()
    assert told(act(admin_client, "run", "run_again", run)) == [
        "1 run was left alone: only what has ended can be run again."
    ]
    assert rows() == before
    assert not AuditEntry.objects.exists()


def test_of_several_runs_those_that_have_ended_run_again_in_their_order(admin_client):
    first, waiting, last = make_run(State.FAILED), make_run(), make_run(State.SUCCEEDED)
    act(admin_client, "run", "run_again", last, waiting, first)
    copies = Run.objects.filter(rerun_of_id__isnull=False).order_by("order_key")
    assert [copy.rerun_of_id for copy in copies] == [first.pk, last.pk]


def test_a_run_under_a_key_that_is_taken_is_not_stored_a_second_time(admin_client):
    old = tasks.admin_single.enqueue()
    Run.objects.filter(pk=old.pk).update(state=State.FAILED.value, unique_hash=None)
    holder = tasks.admin_single.enqueue()
    assert str(holder) in told(act(admin_client, "run", "run_again", old))[0]
    assert Run.objects.count() == 2


@pytest.mark.parametrize("action", ALL_BUT)
def test_without_its_permission_an_action_is_not_offered_and_a_hand_made_request_does_nothing(staff, action):
    waiting, ended = make_run(), make_run(State.FAILED)
    before = rows()
    client = staff(*ALL_BUT[action])
    assert f'value="{action}"' not in page(client, url("run"))
    for objects in ([waiting], [ended], [waiting, ended]):
        assert act(client, "run", action, *objects).status_code == 403
        assert act(client, "run", action, *objects, select_across="1").status_code == 403
    assert rows() == before
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("action", ALL_BUT)
def test_who_may_only_look_is_offered_nothing(staff, action):
    run = make_run()
    client = staff("view_run")
    assert 'name="action"' not in page(client, url("run"))
    act(client, "run", action, run)
    assert [row["state"] for row in rows()] == ["queued"]


@pytest.mark.parametrize(("action", "permission"), [("cancel", "cancel_run"), ("run_again", "rerun_run")])
def test_the_permission_and_looking_are_enough(staff, action, permission):
    run = make_run(State.QUEUED if action == "cancel" else State.FAILED)
    client = staff("view_run", permission)
    assert f'value="{action}"' in page(client, url("run"))
    act(client, "run", action, run)
    assert AuditEntry.objects.get().actor_name == "staff"


@pytest.mark.parametrize(("action", "permission"), [("cancel", "cancel_run"), ("run_again", "rerun_run")])
def test_the_permission_alone_opens_no_page(staff, action, permission):
    before = [make_run(), make_run(State.FAILED)]
    assert act(staff(permission), "run", action, *before).status_code == 403
    assert [row["state"] for row in rows()] == ["queued", "failed"]


@pytest.mark.parametrize("action", ALL_BUT)
def test_who_is_not_logged_in_does_nothing(client, db, action):
    before = [make_run(), make_run(State.FAILED)]
    assert act(client, "run", action, *before)["Location"].startswith("/admin/login/")
    assert [row["state"] for row in rows()] == ["queued", "failed"]


def test_a_get_request_cancels_nothing(admin_client):
    run = make_run()
    admin_client.get(url("run"), {"action": "cancel", "_selected_action": run.pk, "index": 0})
    assert [row["state"] for row in rows()] == ["queued"]
