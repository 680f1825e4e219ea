"""History is looked at and never edited: not by the pages, not by hand-made requests, not by a superuser."""

import pytest

from jobs.core.states import State
from jobs.lifecycle.audit import record
from jobs.models import AuditEntry, Run, Worker
from tests.admin.support import act, make_run, make_worker, page, url

MODELS = {"run": Run, "worker": Worker, "auditentry": AuditEntry}


@pytest.fixture
def rows(db, admin_user):
    run = make_run(State.FAILED)
    record("cancel", run, actor=admin_user, note="why")
    return {"run": run, "worker": make_worker(), "auditentry": AuditEntry.objects.get()}


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_added(admin_client, rows, model):
    assert admin_client.get(url(model, "add")).status_code == 403
    assert admin_client.post(url(model, "add"), {"state": "succeeded", "task": "x"}).status_code == 403
    assert MODELS[model].objects.count() == 1


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_changed(admin_client, rows, model):
    before = MODELS[model].objects.values().get()
    response = admin_client.post(url(model, "change", rows[model].pk), {"state": "succeeded", "priority": "-100"})
    assert response.status_code == 403
    assert MODELS[model].objects.values().get() == before


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_deleted(admin_client, rows, model):
    address = url(model, "delete", rows[model].pk)
    assert admin_client.get(address).status_code == 403
    assert admin_client.post(address, {"post": "yes"}).status_code == 403
    act(admin_client, model, "delete_selected", rows[model], post="yes")
    assert MODELS[model].objects.count() == 1


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_changed_in_a_list(admin_client, rows, model):
    before = MODELS[model].objects.values().get()
    admin_client.post(url(model), {"form-TOTAL_FORMS": "1", "form-0-id": rows[model].pk, "_save": "Save"})
    assert MODELS[model].objects.values().get() == before


@pytest.mark.parametrize("model", MODELS)
def test_the_page_of_a_row_has_nothing_to_save(admin_client, rows, model):
    html = page(admin_client, url(model, "change", rows[model].pk))
    assert 'name="_save"' not in html
    assert "deletelink" not in html
    assert "<textarea" not in html


@pytest.mark.parametrize("model", MODELS)
def test_looking_needs_a_permission(staff, rows, model):
    nobody = staff()
    assert nobody.get(url(model)).status_code == 403
    assert nobody.get(url(model, "change", rows[model].pk)).status_code == 403
    viewer = staff(f"view_{model}", username="viewer")
    assert viewer.get(url(model)).status_code == 200
    assert viewer.get(url(model, "change", rows[model].pk)).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_change_and_delete_permissions_do_not_help(staff, rows, model):
    client = staff(*(f"{verb}_{model}" for verb in ("add", "change", "delete", "view")))
    assert client.get(url(model, "add")).status_code == 403
    assert client.post(url(model, "change", rows[model].pk), {"state": "succeeded"}).status_code == 403
    assert client.post(url(model, "delete", rows[model].pk), {"post": "yes"}).status_code == 403


def test_unsuccessful_attempts_are_shown_and_cannot_be_edited(admin_client, rows):
    run = rows["run"]
    run.attempts.create(number=1, outcome="failed", message="no such bank", ended_at=run.finished_at)
    assert "no such bank" in page(admin_client, url("run", "change", run.pk))
    form = {"attempts-TOTAL_FORMS": "1", "attempts-INITIAL_FORMS": "1", "attempts-0-message": "all is well"}
    assert admin_client.post(url("run", "change", run.pk), form).status_code == 403
    assert run.attempts.get().message == "no such bank"
