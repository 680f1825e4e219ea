"""A job run now, and a run repeated, with parameters and options of one's own."""

import json

import pytest
from django.utils import timezone

from jobs.core.states import State
from jobs.models import AuditEntry, Job, Run
from tests.admin.support import filled_in, make_run, page, told, url

GREET = "tests.tasks.admin_greet"


@pytest.fixture
def job(db) -> Job:
    return Job.objects.create(name="Greeting", task=GREET, arguments_json='{"name":"Ada"}', priority=-3, queue="mail")


@pytest.fixture
def ended(db) -> Run:
    return make_run(
        State.FAILED, priority=-5, queue="mail", unique_key="one", arguments_json='{"name":"Ada","times":2}'
    )


def form_of(client, address: str, **changes) -> dict:
    return filled_in(page(client, address)) | changes


class TestRunNow:
    def test_the_job_leads_there(self, admin_client, job):
        assert f'href="{url("job", "run", job.pk)}"' in page(admin_client, url("job", "change", job.pk))

    def test_the_form_is_prefilled(self, admin_client, job):
        sent = form_of(admin_client, url("job", "run", job.pk))
        shown = {name: sent[name] for name in ("parameter-name", "parameter-times", "run-priority", "run-queue")}
        assert shown == {
            "parameter-name": ["Ada"], "parameter-times": ["1"], "run-priority": ["-3"], "run-queue": ["mail"],
        }  # fmt: skip

    def test_as_it_is_it_stores_what_the_action_stores(self, admin_client, admin_user, job):
        address = url("job", "run", job.pk)
        response = admin_client.post(address, form_of(admin_client, address))
        run = Run.objects.get()
        assert response["Location"] == url("run", "change", run.pk)
        assert told(response) == [f"{run} is queued."]
        assert (run.job_id, run.arguments, run.priority, run.queue) == (job.pk, {"name": "Ada"}, -3, "mail")
        assert (run.submitted_by_key, run.submitted_by_name) == (str(admin_user.pk), "admin")

    def test_with_changes(self, admin_client, job):
        address = url("job", "run", job.pk)
        changes = {
            "parameter-name": "Bob", "parameter-times": "2", "run-priority": "9", "run-queue": "slow",
            "run-run_after": "2999-01-02T03:04", "run-unique_key": "once", "run-note": "for the audit",
        }  # fmt: skip
        admin_client.post(address, form_of(admin_client, address, **changes))
        run, entry = Run.objects.get(), AuditEntry.objects.get()
        assert (run.arguments, run.priority, run.queue) == ({"name": "Bob", "times": 2}, 9, "slow")
        assert (run.state, run.unique_key) == ("scheduled", "once")
        assert timezone.localtime(run.due_at).strftime("%Y-%m-%d %H:%M") == "2999-01-02 03:04"
        assert (entry.verb, entry.note, entry.actor_name) == ("run", "for the audit", "admin")
        job.refresh_from_db()
        assert (job.arguments, job.priority) == ({"name": "Ada"}, -3)

    @pytest.mark.parametrize(
        ("field", "text"),
        [
            ("parameter-times", "x"), ("run-priority", "101"), ("run-priority", ""), ("run-queue", ""),
            ("run-run_after", "soon"), ("run-note", "n" * 501),
        ],
    )  # fmt: skip
    def test_a_wrong_value_stores_nothing_and_keeps_what_was_typed(self, admin_client, job, field, text):
        address = url("job", "run", job.pk)
        response = admin_client.post(address, form_of(admin_client, address, **{"parameter-name": "Bob", field: text}))
        html = response.content.decode()
        assert response.status_code == 200
        assert "Nothing was stored" in html
        assert 'class="errorlist' in html
        sent = filled_in(html)
        assert (sent["parameter-name"], sent[field]) == (["Bob"], [text])
        assert not Run.objects.exists()
        assert not AuditEntry.objects.exists()

    def test_a_key_that_is_taken(self, admin_client, job):
        address = url("job", "run", job.pk)
        sent = form_of(admin_client, address, **{"run-unique_key": "one"})
        admin_client.post(address, sent)
        assert "Nothing was stored" in told(admin_client.post(address, sent))[-1]
        assert Run.objects.count() == 1

    @pytest.mark.parametrize(
        ("changes", "problem"),
        [({"is_enabled": False}, "is disabled"), ({"task": "tests.tasks.gone"}, "is not registered")],
    )
    @pytest.mark.parametrize("method", ["get", "post"])
    def test_a_job_that_cannot_run_says_so(self, admin_client, job, changes, problem, method):
        sent = form_of(admin_client, url("job", "run", job.pk))
        Job.objects.update(**changes)
        response = getattr(admin_client, method)(url("job", "run", job.pk), sent)
        assert response["Location"] == url("job", "change", job.pk)
        assert problem in told(response)[0]
        assert not Run.objects.exists()

    def test_who_may_not_see_parameters_runs_it_with_those_that_are_stored(self, staff, job):
        client = staff("view_job", "run_job", "view_run")
        address = url("job", "run", job.pk)
        html = page(client, address)
        assert "Ada" not in html
        assert "parameter-name" not in html
        client.post(address, filled_in(html) | {"run-priority": "2", "parameter-name": "Mallory"})
        run = Run.objects.get()
        assert (run.arguments, run.priority) == ({"name": "Ada"}, 2)

    def test_who_may_not_see_runs_comes_back_to_the_job(self, staff, job):
        client = staff("view_job", "run_job")
        address = url("job", "run", job.pk)
        response = client.post(address, form_of(client, address))
        assert response["Location"] == url("job", "change", job.pk)
        assert Run.objects.exists()

    def test_of_a_job_that_is_not_there(self, admin_client):
        for method in (admin_client.get, admin_client.post):
            assert method(url("job", "run", 999_999)).status_code == 302


class TestRunAgainWithEdits:
    def test_the_run_leads_there_once_it_has_ended(self, admin_client, ended):
        link = f'href="{url("run", "edit", ended.pk)}"'
        assert link in page(admin_client, url("run", "change", ended.pk))
        waiting = make_run()
        assert url("run", "edit", waiting.pk) not in page(admin_client, url("run", "change", waiting.pk))

    def test_the_form_is_prefilled_and_stores_a_repetition(self, admin_client, ended):
        address = url("run", "edit", ended.pk)
        sent = form_of(admin_client, address)
        assert (sent["parameter-times"], sent["run-priority"], sent["run-queue"]) == (["2"], ["-5"], ["mail"])
        response = admin_client.post(address, sent | {"parameter-times": "3", "run-note": "again, please"})
        copy = Run.objects.get(rerun_of_id=ended.pk)
        assert response["Location"] == url("run", "change", copy.pk)
        assert (copy.arguments, copy.priority, copy.unique_key) == ({"name": "Ada", "times": 3}, -5, "one")
        entry = AuditEntry.objects.get()
        assert (entry.verb, entry.object_id, entry.note) == ("run again", str(ended.pk), "again, please")
        assert json.loads(entry.details_json) == {"run": copy.pk}

    @pytest.mark.parametrize(
        "state", sorted(set(State) - {State.FAILED, State.SUCCEEDED, State.CANCELLED, State.SKIPPED})
    )
    def test_what_has_not_ended_is_not_repeated(self, admin_client, state):
        run = make_run(state)
        for method in (admin_client.get, admin_client.post):
            response = method(url("run", "edit", run.pk))
            assert response["Location"] == url("run", "change", run.pk)
            assert "ended" in told(response)[-1]
        assert Run.objects.count() == 1

    def test_a_function_that_is_gone_says_so(self, admin_client, ended):
        Run.objects.update(task="tests.tasks.gone")
        assert "is not registered" in told(admin_client.get(url("run", "edit", ended.pk)))[0]
        assert url("run", "edit", ended.pk) not in page(admin_client, url("run", "change", ended.pk))

    def test_a_secret_is_kept_and_not_shown(self, admin_client):
        run = make_run(
            State.FAILED, task="tests.tasks.admin_with_secret", arguments_json='{"user":"Ada","api_token":"s3cr3t"}'
        )
        address = url("run", "edit", run.pk)
        html = page(admin_client, address)
        assert "s3cr3t" not in html
        admin_client.post(address, filled_in(html) | {"parameter-user": "Bob"})
        assert Run.objects.get(rerun_of_id=run.pk).arguments == {"user": "Bob", "api_token": "s3cr3t"}
