"""The page of a run: its buttons, its state and its progress."""

import re

import pytest

from jobs.core.states import FINAL, State
from jobs.models import AuditEntry, Run
from tests.admin.support import make_run, page, told, url

BUTTONS = ("cancel", "again", "edit")


def buttons(client, run: Run) -> set[str]:
    html = page(client, url("run", "change", run.pk))
    return {name for name in BUTTONS if f'"{url("run", name, run.pk)}"' in html}


@pytest.mark.parametrize("state", State)
def test_buttons_are_there_when_they_can_do_something(admin_client, state):
    assert buttons(admin_client, make_run(state)) == ({"again", "edit"} if state in FINAL else {"cancel"})


def test_the_button_says_what_it_does_and_is_there_once(admin_client):
    waiting, running = make_run(), make_run(State.RUNNING)
    assert 'value="Cancel this run"' in page(admin_client, url("run", "change", waiting.pk))
    assert 'value="Ask it to end"' in page(admin_client, url("run", "change", running.pk))
    assert "asked to end" in told(admin_client.post(url("run", "cancel", running.pk)))[0]
    assert buttons(admin_client, running) == set()
    html = page(admin_client, url("run", "change", running.pk))
    assert "It was asked to end. It works until its function does." in html


@pytest.mark.parametrize(
    ("permissions", "waiting", "ended"),
    [
        (["view_run"], set(), set()),
        (["view_run", "cancel_run"], {"cancel"}, set()),
        (["view_run", "rerun_run"], set(), {"again"}),
        (["view_run", "rerun_run", "view_arguments"], set(), {"again", "edit"}),
        (["view_run", "view_arguments", "run_job", "change_run", "delete_run"], set(), set()),
    ],
)
def test_buttons_are_there_for_those_who_may(staff, permissions, waiting, ended):
    client = staff(*permissions)
    assert buttons(client, make_run()) == waiting
    assert buttons(client, make_run(State.FAILED)) == ended


def test_who_submitted_a_run_may_cancel_it(staff, django_user_model):
    client = staff("view_run")
    key = str(django_user_model.objects.get(username="staff").pk)
    run = make_run(submitted_by_key=key)
    assert buttons(client, run) == {"cancel"}
    client.post(url("run", "cancel", run.pk))
    run.refresh_from_db()
    assert run.state == State.CANCELLED


def test_cancelling_with_a_note(admin_client):
    run = make_run()
    response = admin_client.post(url("run", "cancel", run.pk), {"note": "n" * 600})
    assert response["Location"] == url("run", "change", run.pk)
    assert told(response) == ["The run was cancelled before the start."]
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.actor_name, entry.note) == ("cancel", "admin", "n" * 500)


@pytest.mark.parametrize("state", sorted(FINAL))
def test_cancelling_too_late(admin_client, state):
    run = make_run(state)
    assert "left alone" in told(admin_client.post(url("run", "cancel", run.pk)))[0]
    assert Run.objects.get().state == state
    assert not AuditEntry.objects.exists()


def test_running_again_leads_to_the_new_run(admin_client):
    run = make_run(State.SUCCEEDED)
    response = admin_client.post(url("run", "again", run.pk))
    copy = Run.objects.get(rerun_of_id=run.pk)
    assert response["Location"] == url("run", "change", copy.pk)
    assert AuditEntry.objects.get().verb == "run again"


def test_one_press_makes_one_run_however_often_it_comes(admin_client):
    run = make_run(State.SUCCEEDED)
    press = re.search(r'name="press" value="(\w+)"', page(admin_client, url("run", "change", run.pk)))[1]
    answers = [admin_client.post(url("run", "again", run.pk), {"press": press}) for _ in range(2)]
    copy = Run.objects.get(rerun_of_id=run.pk)
    assert {answer["Location"] for answer in answers} == {url("run", "change", copy.pk)}
    assert AuditEntry.objects.count() == 1
    admin_client.post(url("run", "again", run.pk), {"press": "another"})
    assert Run.objects.filter(rerun_of_id=run.pk).count() == 2


@pytest.mark.parametrize("state", sorted(set(State) - FINAL))
def test_running_again_too_early(admin_client, state):
    run = make_run(state)
    assert "once it has ended" in told(admin_client.post(url("run", "again", run.pk)))[0]
    assert Run.objects.count() == 1


@pytest.mark.parametrize("button", BUTTONS)
def test_a_run_that_is_not_there(admin_client, button):
    assert admin_client.post(url("run", button, 999_999)).status_code == 302


@pytest.mark.parametrize("state", State)
def test_a_state_is_told_by_sign_and_word(admin_client, state):
    run = make_run(state)
    for html in (page(admin_client, url("run")), page(admin_client, url("run", "change", run.pk))):
        badge = html.partition(f'<span class="jobs-state jobs-state-{state}">')[2].partition("</span> ")
        assert badge[0].startswith('<span aria-hidden="true">')
        assert badge[2].startswith(state)


@pytest.mark.parametrize(
    ("done", "total", "expected"),
    [
        (1.5, 3.0, '<progress value="1.5" max="3.0" aria-hidden="true"></progress> 1.5 of 3 half'),
        (0.0, 1e6, '<progress value="0.0" max="1000000.0" aria-hidden="true"></progress> 0 of 1e+06 half'),
        (7.0, None, "7 half"),
        (0.0, 0.0, "0 of 0 half"),
    ],
)
@pytest.mark.parametrize("language", ["en-us", "de"])
def test_progress_is_told_as_a_bar_and_in_words(admin_client, language, done, total, expected):
    run = make_run(State.RUNNING, progress_done=done, progress_total=total, progress_message="half")
    for address in (url("run"), url("run", "change", run.pk)):
        assert expected in page(admin_client, address)
