"""Parameters, results and logs are for those with `view_arguments`; what is secret by its name is for nobody."""

import pytest

from jobs.core import clock
from jobs.core.states import State
from jobs.models import Run
from jobs.testing import drain
from tests import tasks
from tests.admin.support import page, url


@pytest.fixture
def run(db) -> Run:
    run = tasks.admin_with_secret.enqueue("Ada", "s3cr3t-token", more={"list": [{"password": "s3cr3t-inside"}]})
    drain()
    run.refresh_from_db()
    assert run.state == State.SUCCEEDED
    run.log_chunks.create(attempt=1, number=1, text="a line of the log", written_at=clock.now())
    return run


def test_without_the_permission_nothing_of_it_is_shown(staff, run):
    client = staff("view_run", "view_attempt", "cancel_run", "rerun_run")
    for html in (page(client, url("run", "change", run.pk)), page(client, url("run"))):
        assert "Ada" not in html
        assert "a line of the log" not in html
        assert "s3cr3t" not in html


def test_with_the_permission_all_but_secrets_is_shown(staff, run):
    html = page(staff("view_run", "view_arguments"), url("run", "change", run.pk))
    assert "&quot;user&quot;: &quot;Ada&quot;" in html
    assert "&quot;account&quot;: &quot;Ada&quot;" in html
    assert "a line of the log" in html
    assert "&quot;api_token&quot;: &quot;****" in html
    assert "&quot;password&quot;: &quot;****" in html


@pytest.mark.parametrize("permissions", [["view_run"], ["view_run", "view_arguments"]])
def test_secrets_are_on_no_page(staff, run, permissions):
    client = staff(*permissions)
    for address in (url("run"), url("run", "change", run.pk), url("run", "history", run.pk)):
        assert "s3cr3t" not in page(client, address)


@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        ("run", "arguments_json__contains"),
        ("run", "arguments_json__startswith"),
        ("run", "result_json__regex"),
        ("run", "result_json__gt"),
        ("job", "arguments_json__contains"),
    ],
)
def test_a_hidden_column_cannot_be_guessed_by_filtering(staff, run, model, lookup):
    client = staff(f"view_{model}", "view_arguments")
    answers = [client.get(url(model), {lookup: text}) for text in ('"s3cr3t', "zzz")]
    assert [answer.status_code for answer in answers] == [400, 400]


@pytest.mark.parametrize("lookup", ["attempts__traceback__contains", "log_chunks__text__contains"])
def test_related_rows_cannot_be_guessed_by_filtering(staff, run, lookup):
    assert staff("view_run").get(url("run"), {lookup: "line"}).status_code == 400


def test_the_error_for_wrong_parameters_shows_no_secret(staff, db):
    run = tasks.admin_with_secret.enqueue("Ada", "s3cr3t-token")
    Run.objects.filter(pk=run.pk).update(arguments_json='{"user": "Ada", "api_token": ["s3cr3t-list"]}')
    drain()
    html = page(staff("view_run", "view_attempt", "view_arguments"), url("run", "change", run.pk))
    assert "The parameters do not fit the function" in html
    assert "s3cr3t" not in html


# What an exception says may hold values: its class is told to everybody who may view the run.


@pytest.fixture
def failed(db) -> Run:
    run = tasks.admin_fail.enqueue("account 4711 is closed")
    drain()
    run.refresh_from_db()
    assert run.state == State.FAILED
    return run


@pytest.mark.parametrize("may", [False, True])
def test_messages_and_tracebacks_are_for_those_who_may_see_values(staff, failed, may):
    client = staff("view_run", "view_attempt", *(["view_arguments"] if may else []))
    shown, in_list = page(client, url("run", "change", failed.pk)), page(client, url("run"))
    for html in (shown, in_list):
        assert "The function raised ValueError" in html
        assert ("account 4711" in html) is may
    assert "ValueError" in shown.partition("unsuccessful attempts")[2].lower() or "ValueError" in shown
    assert ("Traceback" in shown) is may


def test_attempts_need_a_permission_of_their_own(staff, failed):
    html = page(staff("view_run", "view_arguments"), url("run", "change", failed.pk))
    assert "Traceback" not in html


def test_no_values_come_back_from_a_search(staff, failed):
    client = staff("view_run")
    assert client.get(url("run"), {"q": "account 4711"}).context["cl"].result_count == 0
    for lookup in ("reason_json__contains", "attempts__message__contains", "reason_code__exact"):
        answer = client.get(url("run"), {lookup: "account"})
        assert answer.status_code == 400 or not answer.context["cl"].result_count
