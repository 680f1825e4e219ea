"""Parameters of every type through the pages: shown, sent back as a browser does, stored, whatever the language."""

import json
import re

import pytest
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.test import override_settings
from django.utils import timezone, translation

import jobs
from jobs.models import Run
from jobs.registry import registry
from tests.names import named
from tests.parameters import browser
from tests.parameters.support import same, stored
from tests.parameters.test_form import TABLE, is_same_value
from tests.web.support import Page, make_job, make_run, url

LANGUAGES = {
    "de": {"LANGUAGE_CODE": "de", "USE_THOUSAND_SEPARATOR": True, "TIME_ZONE": "Europe/Berlin"},
    "en-us": {"LANGUAGE_CODE": "en-us", "USE_THOUSAND_SEPARATOR": True, "TIME_ZONE": "UTC"},
}


@pytest.fixture(params=LANGUAGES)
def language(request):
    with override_settings(**LANGUAGES[request.param]), translation.override(request.param):
        yield request.param


@pytest.fixture
def rows(db):
    """What the values of model types in the table mean."""
    Group.objects.bulk_create([Group(pk=7, name="staff"), Group(pk=8, name="<others>")])
    Session.objects.create(session_key="abc", session_data="", expire_date=timezone.now())


@pytest.fixture
def function_of():
    """Register a function with one parameter, `x`, of this annotation."""

    def make(annotation):
        def func(x): ...

        func.__annotations__["x"] = annotation
        return jobs.register(func, name="tests.web.takes_one")

    yield make
    registry.discard("tests.web.takes_one")


def form_data(client, address: str):
    """What a browser sends of the page's form that nobody has touched."""
    response = client.get(address)
    assert response.status_code == 200
    _, _, form = response.content.decode().partition('<form method="post" class="stack"')
    controls = "<form " + form.partition("</form>")[0]
    return browser.submitted(re.sub("<datalist.*?</datalist>", "", controls))  # suggestions are not sent


def send(client, address: str, data) -> Run:
    response = client.post(address, data.urlencode(), content_type="application/x-www-form-urlencoded")
    page = Page(response.content.decode())
    assert response.status_code == 302, page.text
    return Run.objects.latest("pk")


@pytest.mark.parametrize(("annotation", "value"), TABLE, ids=named)
def test_what_is_shown_is_kept_and_can_be_typed(rows, operator, language, function_of, annotation, value):
    task, json_value = function_of(annotation), stored(annotation, value)
    job = make_job(task=task.name, arguments_json=json.dumps({"x": json_value}))
    sent = form_data(operator, url("job_run", job.pk))
    assert same(send(operator, url("job_run", job.pk), sent).arguments, {"x": json_value})
    typed = send(operator, url("submit_task", task.name), sent)
    assert is_same_value(annotation, typed.arguments["x"], json_value)


def test_numbers_of_runs_stay_whole_in_addresses(operator, language):
    """With a separator for thousands no number in an address or an attribute may hold one."""
    job = make_job(pk=1234567)
    first = make_run("failed", pk=7654321, job_id=job.pk, job_name="Greeting", progress_done=1234.5, progress_total=5e6)
    make_run("failed", rerun_of_id=first.pk, job_id=job.pk)
    running = make_run("running", progress_done=1234.5, progress_total=5e6)
    first.attempts.create(pk=5555555, number=1, outcome="lost", ended_at=first.enqueued_at, traceback="…")
    running.log_chunks.create(pk=4444444, attempt=1, number=1, text="x", written_at=first.enqueued_at)
    addresses = [
        *(url(name) for name in ("dashboard", "runs", "jobs", "workers")), url("run", first.pk), url("job", job.pk),
        url("run", running.pk), url("run_edit", first.pk), url("runs", state="failed"), url("jobs", q="Greet"),
        url("run_log", running.pk),
    ]  # fmt: skip
    seen = set()
    for address in addresses:
        page = Page(operator.get(address).content.decode())
        for _, attributes in page.elements:
            for name in ("href", "action", "hx-get", "id", "max", "value", "x", "width"):
                text = attributes.get(name) or ""
                assert "," not in text, (address, name, text)
                assert "\xa0" not in text, (address, name, text)
                assert not any(wrong in text for wrong in ("1.234", "7.654", "5.555", "4.444", "5.000")), text
        seen |= page.links
    assert {url("run", first.pk), url("job", job.pk)} <= seen
    for link in seen:
        if link.startswith("/jobs/"):
            assert operator.get(link).status_code == 200
