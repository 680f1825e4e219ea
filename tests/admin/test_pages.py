"""Every page opens, whatever the rows hold."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from jobs.core import clock
from jobs.core.states import Reason, State
from jobs.lifecycle import enqueue_job
from jobs.models import Job, Run
from jobs.testing import drain
from tests import tasks
from tests.admin.support import make_run, make_worker, page, url


@pytest.fixture
def site(admin_user):
    """One row or more of everything."""
    job = Job.objects.create(name="Greeting", task="tests.tasks.admin_greet", arguments_json='{"name":"Ada"}')
    enqueue_job(job, actor=admin_user, note="to look at")
    tasks.admin_fail.enqueue("no such bank")
    tasks.admin_greet.using(run_after=clock.now().replace(year=2999), unique_key="later").enqueue("Ada")
    drain()
    for state in State:
        make_run(state, progress_done=1.5, progress_total=3.0, progress_message="half")
    make_worker(state="dead", stopped_at=clock.now(), queues="mail")
    return job


@pytest.mark.parametrize("app", ["index", "app_list"])
def test_the_index(admin_client, site, app):
    html = page(admin_client, reverse(f"admin:{app}", args=["jobs"] if app == "app_list" else []))
    for name in ("Runs", "Jobs", "Workers", "Audit entries"):
        assert name in html


def test_a_plain_user_is_sent_to_the_login(client, site):
    client.force_login(User.objects.create_user("plain"))
    assert client.get(url("run"))["Location"].startswith("/admin/login/")


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("run", {}),
        ("run", {"q": "Greet"}),
        ("run", {"q": "tests.tasks.admin"}),
        ("run", {"q": "100% _ ' \" \\ é 🦉"}),
        ("run", {"state__exact": "failed"}),
        ("run", {"state__exact": "running", "queue": "default", "q": "tests"}),
        ("run", {"o": "2"}),
        ("run", {"o": "-4.5"}),
        ("run", {"all": ""}),
        ("worker", {"state__exact": "dead", "kind": "web"}),
        ("auditentry", {"q": "adm", "verb": "run", "object_type": "job"}),
        ("job", {"q": "greet", "is_enabled__exact": "1"}),
    ],
)
def test_the_lists_with_filters_and_search(admin_client, site, model, parameters):
    response = admin_client.get(url(model), parameters)
    assert response.status_code == 200
    assert response.context["cl"].params.keys() <= parameters.keys()


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"q": "Greet"}, {"Greeting"}),
        ({"q": "tests.tasks.admin_fail"}, {""}),
        ({"state__exact": "succeeded"}, {"Greeting", ""}),
        ({"q": "nothing of this name"}, set()),
    ],
)
def test_the_list_of_runs_shows_what_was_searched_for(admin_client, site, parameters, expected):
    found = admin_client.get(url("run"), parameters).context["cl"].result_list
    assert {run.job_name for run in found} == expected


def test_runs_are_listed_from_the_newest_on(admin_client, site):
    found = [run.pk for run in admin_client.get(url("run")).context["cl"].result_list]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("page_name", ["change", "history"])
def test_the_page_of_every_row(admin_client, site, page_name):
    for run in Run.objects.all():
        assert page(admin_client, url("run", page_name, run.pk))
    assert page(admin_client, url("job", page_name, site.pk))


def test_the_pages_of_a_job(admin_client, site):
    assert page(admin_client, url("job", "add"))
    assert page(admin_client, url("job", "delete", site.pk))
    assert page(admin_client, url("job", "change", site.pk))


@pytest.mark.parametrize("model", ["run", "job", "worker", "auditentry"])
def test_a_row_that_is_not_there_leads_to_the_index(admin_client, db, model):
    response = admin_client.get(url(model, "change", 999_999))
    assert (response.status_code, response["Location"]) == (302, reverse("admin:index"))


@pytest.mark.parametrize("text", ["\ud800", "\x00", "é 🦉", "x" * 100_000, "\u202e\u2028"])
def test_any_text_that_a_run_can_hold_can_be_shown(admin_client, text):
    run = tasks.admin_greet.enqueue(text)
    drain()
    assert page(admin_client, url("run", "change", run.pk))
    assert page(admin_client, url("run"))


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_can_be_shown(admin_client, reason):
    run = make_run(State.FAILED, reason_code=reason.value)
    html = page(admin_client, url("run", "change", run.pk))
    assert run.reason.partition("{")[0] in html


def test_what_a_failed_run_tells(admin_client, site):
    run = Run.objects.get(task="tests.tasks.admin_fail")
    html = page(admin_client, url("run", "change", run.pk))
    assert "The function raised ValueError: no such bank" in html
    assert "raise ValueError(message)" in html


def test_progress_and_times_of_a_running_run(admin_client, site):
    run = Run.objects.get(state=State.RUNNING)
    html = page(admin_client, url("run", "change", run.pk))
    assert "1.5 of 3 half" in html
