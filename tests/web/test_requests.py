"""Changes need a POST with the token, from this site (case W2); and what every answer says of itself."""

import json

import pytest
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import URLPattern

from jobs.core.states import State
from jobs.models import Queue
from tests.web.support import (
    TASK,
    failed_with,
    make_job,
    make_run,
    make_schedule,
    make_worker,
    submitted,
    tables,
    url,
)
from tests.web.test_permission_matrix import ADDRESSES

DOING = {name: address for name, address in ADDRESSES.items() if address.post}


@pytest.fixture
def rows(db, settings) -> dict:
    settings.JOBS = settings.JOBS | {"LOST_AFTER_SECONDS": 3600.0}  # the worker lives however long the test takes
    Queue.objects.create(name="mail")
    Queue.objects.create(name="slow", is_paused=True)
    make_worker()
    job = make_job()
    return {
        "job": job, "disabled": make_job("Off", is_enabled=False), "waiting": make_run(job_id=job.pk),
        "ended": failed_with("no"), "schedule": make_schedule(job, "0 4 * * *"),
        "disabled_schedule": make_schedule(job, is_enabled=False),
    }  # fmt: skip


@pytest.fixture
def strict(operator) -> Client:
    """The operator's browser, with the token checked as in production."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator.user)
    return client


def addresses(rows) -> dict[str, str]:
    found = {name: address.of(name, rows) for name, address in ADDRESSES.items()}
    return found | {"health": url("health")}


@pytest.mark.parametrize("method", ["get", "head"])
def test_looking_changes_nothing_whatever_the_address_holds(operator, rows, method):
    before = tables()
    queries = [
        "",
        "?action=cancel&confirm=1&_method=POST",
        "?name=mail&reason=x&note=x",
        "?q=&page=2&after=1&attempt=1",
    ]
    for name, address in addresses(rows).items():
        for query in queries:
            added = query.replace("?", "&") if "?" in address else query
            expected = 200 if name == "health" or ADDRESSES[name].get else 405
            assert getattr(operator, method)(address + added).status_code == expected, name
    assert tables() == before


@pytest.mark.parametrize("name", DOING)
def test_nothing_is_done_without_the_token(strict, rows, name):
    before, address = tables(), DOING[name]
    for extra in ({}, {"csrfmiddlewaretoken": "x" * 64}):
        response = strict.post(url(name, *address.args(rows)), address.data() | extra)
        assert response.status_code == 403
    assert tables() == before


@pytest.mark.parametrize("name", DOING)
@pytest.mark.parametrize("origin", ["https://evil.example", "http://testserver.evil.example", "null"])
def test_nothing_is_done_for_another_site(strict, rows, name, origin):
    strict.get(url("run", rows["waiting"].pk))
    before, address = tables(), DOING[name]
    data = address.data() | {"csrfmiddlewaretoken": strict.cookies["csrftoken"].value}
    response = strict.post(url(name, *address.args(rows)), data, headers={"Origin": origin})
    assert response.status_code == 403
    assert tables() == before


@pytest.mark.parametrize("name", DOING)
def test_with_the_token_of_a_page_it_is_done(strict, rows, name):
    strict.get(url("run", rows["waiting"].pk))
    before, address = tables(), DOING[name]
    data = address.data() | {"csrfmiddlewaretoken": strict.cookies["csrftoken"].value}
    response = strict.post(url(name, *address.args(rows)), data, headers={"Origin": "http://testserver"})
    assert response.status_code == 302
    assert tables() != before


@pytest.mark.parametrize("name", DOING)
def test_a_body_of_json_is_no_way_around(strict, rows, name):
    before, address = tables(), DOING[name]
    body = json.dumps(address.data())
    response = strict.post(url(name, *address.args(rows)), body, content_type="application/json")
    assert response.status_code == 403
    assert tables() == before


def all_views(patterns):
    for each in patterns:
        if isinstance(each, URLPattern):
            yield each.callback
        else:
            yield from all_views(each.url_patterns)


def test_no_view_of_the_site_is_exempt_from_the_token():
    views = list(all_views(get_resolver("config.urls").url_patterns))
    assert len(views) > len(ADDRESSES)
    assert not [view for view in views if getattr(view, "csrf_exempt", False)]


def test_json_is_told_as_json(operator, rows):
    for name in ("status", "health", "run_json", "fire_times"):
        response = operator.get(addresses(rows)[name])
        assert response["Content-Type"] == "application/json"
        assert response["X-Content-Type-Options"] == "nosniff"
        json.loads(response.content)


def test_no_answer_is_kept_by_a_browser_or_proxy(operator, rows):
    for name, address in addresses(rows).items():
        cache_control = operator.get(address)["Cache-Control"]
        assert "no-store" in cache_control, name
        assert "private" in cache_control, name


def test_every_page_allows_nothing_but_the_sites_own_scripts_and_styles(operator, rows):
    for name, address in addresses(rows).items():
        policy = operator.get(address)["Content-Security-Policy"]
        assert "default-src 'self'" in policy, name
        assert "unsafe" not in policy, name
        for directive in ("base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'", "object-src 'none'"):
            assert directive in policy, name


def test_nothing_leads_away_from_the_site(client, operator, rows):
    """The login takes the address to go on to from the query: only one of this site."""
    address = url("run", rows["waiting"].pk)
    assert client.get(address).url == f"/login/?next={address}"
    operator.user.set_password("pass")
    operator.user.save()
    for wanted, expected in ((address, address), ("https://evil.example/", "/"), ("//evil.example", "/")):
        response = Client().post("/login/", {"username": "operator", "password": "pass", "next": wanted})
        assert response.url == expected


def test_a_wrong_method_is_told_apart_from_a_missing_permission(person, rows):
    client = person()
    assert client.get(url("queue_pause")).status_code == 405
    assert client.post(url("queue_pause")).status_code == 403


def test_what_is_done_twice_is_done_once(operator, rows):
    for _ in range(2):
        operator.post(url("run_cancel", rows["waiting"].pk))
        operator.post(url("job_disable", rows["job"].pk))
    rows["waiting"].refresh_from_db()
    assert rows["waiting"].state == State.CANCELLED
    verbs = [entry["verb"] for entry in tables("jobs")["AuditEntry"]]
    assert verbs == ["cancel", "disable"]


def test_the_form_of_a_function_is_no_door_for_another(operator, rows):
    """Fields that the form does not have are not looked at."""
    more = {"task": "os.system", "state": "succeeded", "id": "1", "submitted_by_key": "7", "hook": "os.system"}
    operator.post(url("submit_task", TASK), submitted() | more)
    row = tables("jobs")["Run"][-1]
    assert (row["task"], row["state"], row["submitted_by_name"]) == (TASK, State.QUEUED, "operator")
