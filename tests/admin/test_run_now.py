"""The action "Run now" of jobs."""

import pytest
from django.contrib.admin.models import LogEntry

from jobs.models import AuditEntry, Job, Run
from tests.admin.support import act, page, told, url

GREET = "tests.tasks.admin_greet"


@pytest.fixture
def job(db) -> Job:
    return Job.objects.create(name="Greeting", task=GREET, arguments_json='{"name":"Ada"}', priority=-3, queue="mail")


def test_it_stores_a_run_with_the_jobs_parameters_and_options(admin_client, job):
    response = act(admin_client, "job", "run_now", job)
    run = Run.objects.get()
    assert (run.job_id, run.job_name, run.task, run.arguments) == (job.pk, "Greeting", GREET, {"name": "Ada"})
    assert (run.state, run.priority, run.queue) == ("queued", -3, "mail")
    assert told(response) == [f'<a href="{url("run", "change", run.pk)}">Greeting #{run.pk}</a> is queued.']


def test_an_empty_option_of_the_job_means_that_of_the_function(admin_client, job):
    Job.objects.update(priority=None, queue="")
    act(admin_client, "job", "run_now", job)
    run = Run.objects.get()
    assert (run.priority, run.queue) == (4, "default")


def test_it_is_told_who_did_it(admin_client, admin_user, job):
    act(admin_client, "job", "run_now", job)
    run = Run.objects.get()
    assert (run.submitted_by_key, run.submitted_by_name) == (str(admin_user.pk), "admin")
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.actor_name, entry.actor_key) == ("run", "admin", str(admin_user.pk))
    assert (entry.object_type, entry.object_id, entry.object_name) == ("job", str(job.pk), "Greeting")
    assert entry.details_json == f'{{"run": {run.pk}}}'


def test_without_the_permission_it_is_not_offered_and_a_hand_made_request_does_nothing(staff, job):
    client = staff("view_job", "change_job", "add_job", "view_run", "cancel_run", "rerun_run", "view_arguments")
    assert "run_now" not in page(client, url("job"))
    assert act(client, "job", "run_now", job).status_code == 403
    assert not Run.objects.exists()
    assert not AuditEntry.objects.exists()


def test_with_the_permission_it_works_for_who_may_not_change_the_job(staff, job):
    client = staff("view_job", "run_job")
    assert "run_now" in page(client, url("job"))
    act(client, "job", "run_now", job)
    assert Run.objects.get().submitted_by_name == "staff"


def test_the_permission_alone_opens_no_page(staff, job):
    assert act(staff("run_job"), "job", "run_now", job).status_code == 403
    assert not Run.objects.exists()


def test_who_is_not_logged_in_does_nothing(client, job):
    response = act(client, "job", "run_now", job)
    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"is_enabled": False}, "is disabled. Enable it before you run it."),
        ({"task": "tests.tasks.gone"}, "is not registered as a task function"),
        ({"arguments_json": '{"name": 5}'}, "name: expected text"),
        ({"arguments_json": "{}"}, "name: is missing"),
    ],
)
def test_a_job_that_cannot_run_says_why_and_stops_no_other(admin_client, job, changes, problem):
    other = Job.objects.create(name="Zebra", task=GREET, arguments_json='{"name":"Bob"}')
    Job.objects.filter(pk=job.pk).update(**changes)
    refusal, answer = told(act(admin_client, "job", "run_now", job, other))
    assert refusal.startswith("Greeting: ")
    assert problem in refusal
    assert "is queued" in answer
    assert Run.objects.get().job_name == "Zebra"
    assert AuditEntry.objects.count() == 1


def test_the_second_run_under_one_key_is_the_first(admin_client):
    job = Job.objects.create(name="Single", task="tests.tasks.admin_single")
    act(admin_client, "job", "run_now", job)
    answer = told(act(admin_client, "job", "run_now", job))[-1]
    assert "was already queued" in answer
    assert Run.objects.count() == 1


def test_disabling_and_enabling_leave_their_trace(admin_client, job):
    act(admin_client, "job", "disable", job)
    job.refresh_from_db()
    assert not job.is_enabled
    act(admin_client, "job", "enable", job)
    job.refresh_from_db()
    assert job.is_enabled
    assert [entry.change_message for entry in LogEntry.objects.order_by("id")] == ["Disabled.", "Enabled."]


def test_disabling_needs_the_permission_to_change(staff, job):
    client = staff("view_job", "run_job")
    assert 'value="disable"' not in page(client, url("job"))
    act(client, "job", "disable", job)
    job.refresh_from_db()
    assert job.is_enabled


def test_deleting_a_job_keeps_its_runs_and_their_name(admin_client, job):
    act(admin_client, "job", "run_now", job)
    admin_client.post(url("job", "delete", job.pk), {"post": "yes"})
    assert not Job.objects.exists()
    run = Run.objects.get()
    assert run.job_name == "Greeting"
    assert f"Greeting #{run.pk}" in page(admin_client, url("run", "change", run.pk))
