"""Who may open and do what on the pages: one table for every address (cases W2 and W3).

Each user, each address, each method: what is answered, and whether anything in the tables is different afterwards.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import Client
from django.urls import resolve
from django.urls.resolvers import URLPattern

from jobs.core.states import State
from jobs.models import AuditEntry, Queue
from jobs.web import urls
from tests.lifecycle.support import rolled_back
from tests.web.support import (
    TASK,
    Page,
    all_permissions,
    make_job,
    make_run,
    make_schedule,
    make_worker,
    schedule_sent,
    submitted,
    tables,
    url,
)

SINGLE = (
    "view_run", "cancel_run", "rerun_run", "view_arguments", "view_job", "run_job", "change_job", "view_worker",
    "view_queue", "change_queue", "view_schedule", "add_schedule", "change_schedule", "delete_schedule",
)  # fmt: skip
TOGETHER = (
    "view_run+cancel_run", "view_run+rerun_run", "view_run+view_arguments", "rerun_run+view_arguments",
    "view_run+rerun_run+view_arguments", "view_job+run_job", "view_job+change_job", "view_worker+view_queue",
    "view_worker+view_queue+change_queue", "view_job+add_schedule", "view_schedule+change_schedule",
    "view_schedule+delete_schedule", "view_schedule+change_schedule+run_job", "change_schedule+run_job",
    "view_job+view_schedule+add_schedule+change_schedule+delete_schedule",
)  # fmt: skip
OPERATOR = "view_run+cancel_run+rerun_run+view_job+run_job+view_worker+view_queue+change_queue"
OTHERS = "+".join(codename for codename in all_permissions() if codename not in SINGLE)
USERS = {
    "anonymous": None,
    "plain": "",
    **{codename: codename for codename in SINGLE},
    **{codenames: codenames for codenames in TOGETHER},
    "operator": OPERATOR,
    "all other permissions": OTHERS,
    "superuser": "+".join(all_permissions()),
}


@dataclass
class Person:
    """Somebody, and what the rules allow them."""

    client: Client
    held: frozenset
    is_anonymous: bool
    user: object = field(default_factory=AnonymousUser)

    def has(self, *codenames: str) -> bool:
        return self.held.issuperset(codenames)

    def sees(self, rows) -> bool:
        return rows["is_own"] or self.has("view_run")

    def cancels(self, rows) -> bool:
        return rows["is_own"] or self.has("view_run", "cancel_run")

    def repeats(self, rows) -> bool:
        return self.sees(rows) and self.has("rerun_run")

    def edits(self, rows) -> bool:
        return self.repeats(rows) and self.has("view_arguments")


Rule = Callable[[Person, dict], bool]


def having(*codenames: str) -> Rule:
    return lambda person, rows: person.has(*codenames)


def nobody_sends(person, rows) -> bool:
    raise AssertionError("this method is answered by 405")


@dataclass(frozen=True)
class Address:
    """One address of the pages. `get` and `post` say who may use it so; None: nobody, the answer is 405."""

    args: Callable[[dict], tuple] = lambda rows: ()
    get: Rule | None = None
    post: Rule | None = None
    data: Callable[[], dict] = dict
    verb: str = ""  # what the audit log then says of a POST
    table: str = ""  # what a POST changes
    query: str = ""

    def of(self, name: str, rows: dict) -> str:
        return url(name, *self.args(rows)) + self.query


def run(state: str, **rules) -> Address:
    return Address(lambda rows: (rows[state].pk,), **rules)


def job(**rules) -> Address:
    return Address(lambda rows: (rows["job"].pk,), **rules)


def schedule(row: str = "schedule", **rules) -> Address:
    return Address(lambda rows: (rows[row].pk,), **{"table": "Schedule"} | rules)


def previews(person: Person, rows) -> bool:
    return person.has("add_schedule") or person.has("change_schedule")


def one_slot() -> dict:
    """A backfill of one past slot, which has been counted."""
    slot = "2026-01-05T04:00:00+00:00"
    return {"backfill-start": slot, "backfill-until": slot, "backfill-counted": f"{slot} {slot}"}


def anybody(person, rows) -> bool:
    return True


ADDRESSES = {
    "dashboard": Address(get=anybody),
    "runs": Address(get=anybody),
    "run": run("waiting", get=Person.sees),
    "run_live": run("waiting", get=Person.sees),
    "run_json": run("waiting", get=Person.sees),
    "run_log": run("waiting", get=lambda person, rows: person.sees(rows) and person.has("view_arguments")),
    "run_cancel": run("waiting", post=Person.cancels, verb="cancel", table="Run"),
    "run_again": run("ended", post=Person.repeats, verb="run again", table="Run"),
    "run_edit": run("ended", get=Person.edits, post=Person.edits, data=submitted, verb="run again", table="Run"),
    "jobs": Address(get=having("view_job")),
    "job": job(get=having("view_job")),
    "job_run": job(
        get=having("view_job", "run_job"), post=having("view_job", "run_job"), data=submitted, verb="run", table="Run"
    ),
    "job_enable": Address(lambda rows: (rows["disabled"].pk,), post=having("change_job"), verb="enable", table="Job"),
    "job_disable": job(post=having("change_job"), verb="disable", table="Job"),
    "upcoming": Address(get=having("view_schedule")),
    "schedule_add": job(
        get=having("view_job", "add_schedule"), post=having("view_job", "add_schedule"), data=schedule_sent, verb="add",
        table="Schedule",
    ),
    "schedule_preview": Address(get=previews),
    "schedule": schedule(
        get=having("view_schedule", "change_schedule"), post=having("view_schedule", "change_schedule"),
        data=schedule_sent, verb="change",
    ),
    "schedule_delete": schedule(
        get=having("view_schedule", "delete_schedule"), post=having("view_schedule", "delete_schedule"), verb="delete",
    ),
    "schedule_enable": schedule("disabled_schedule", post=having("view_schedule", "change_schedule"), verb="enable"),
    "schedule_disable": schedule(post=having("view_schedule", "change_schedule"), verb="disable"),
    "schedule_backfill": schedule(
        get=having("view_schedule", "run_job"), data=one_slot, verb="backfill", table="Run",
        post=having("view_schedule", "change_schedule", "run_job"),
    ),
    "fire_times": Address(get=having("view_schedule"), query="?kind=cron&expression=@daily"),
    "submit": Address(get=having("run_job")),
    "submit_task": Address(
        lambda rows: (TASK,), get=having("run_job"), post=having("run_job"), data=submitted, verb="enqueue", table="Run"
    ),
    "workers": Address(get=having("view_worker")),
    "queue_pause": Address(post=having("change_queue"), data=lambda: {"name": "mail"}, verb="pause", table="Queue"),
    "queue_resume": Address(post=having("change_queue"), data=lambda: {"name": "slow"}, verb="resume", table="Queue"),
    "status": Address(get=having("view_run")),
}  # fmt: skip


def names_in(patterns) -> set[str]:
    found = set()
    for each in patterns:
        found |= {each.name} if isinstance(each, URLPattern) else names_in(each.url_patterns)
    return found


def test_the_table_has_every_address():
    """An address that is added later has to be added to the table as well. `health` is for all: see below."""
    assert names_in(urls.urlpatterns) == {*ADDRESSES, "health"}


@pytest.fixture(params=USERS)
def somebody(request, person) -> Person:
    held = USERS[request.param]
    if held is None:
        return Person(Client(), frozenset(), is_anonymous=True)
    codenames = held.split("+") if held else []
    client = person(*codenames, username="somebody", is_superuser=request.param == "superuser")
    return Person(client, frozenset(codenames), False, client.user)


@pytest.fixture
def shared(db) -> dict:
    Queue.objects.create(name="mail")
    Queue.objects.create(name="slow", is_paused=True)
    make_worker()
    job, disabled = make_job(), make_job("Off", is_enabled=False)
    return {
        "job": job,
        "disabled": disabled,
        "schedule": make_schedule(job, "0 4 * * *"),
        "disabled_schedule": make_schedule(disabled, is_enabled=False),
    }


@pytest.fixture(params=["own", "foreign"])
def rows(request, somebody, shared) -> dict:
    is_own = request.param == "own" and not somebody.is_anonymous
    by = somebody.user if is_own else User.objects.create_user("other")
    runs = {
        "waiting": make_run(by=by, job_id=shared["job"].pk, job_name="Greeting"),
        "ended": make_run(State.FAILED, by=by),
        "running": make_run(State.RUNNING, by=by),
    }
    return {**shared, **runs, "is_own": is_own}


def is_to_login(response) -> bool:
    return response.status_code == 302 and response["Location"].startswith("/login/?next=/jobs/")


def is_refused(person: Person, response) -> bool:
    return is_to_login(response) if person.is_anonymous else response.status_code == 403


def allows(rule: Rule, person: Person, rows: dict) -> bool:
    return not person.is_anonymous and rule(person, rows)


@pytest.mark.parametrize("method", ["get", "head"])
def test_looking_is_for_those_who_may_and_changes_nothing(somebody, rows, method):
    before = tables()
    for name, address in ADDRESSES.items():
        response = getattr(somebody.client, method)(address.of(name, rows))
        if address.get is None:
            assert response.status_code == 405, name
        elif allows(address.get, somebody, rows):
            assert response.status_code == 200, name
        else:
            assert is_refused(somebody, response), (name, response.status_code)
    assert tables() == before


def test_doing_is_for_those_who_may(somebody, rows):
    before = tables("jobs")
    for name, address in ADDRESSES.items():
        with rolled_back():
            response = somebody.client.post(address.of(name, rows), address.data())
            if address.post is None:
                assert response.status_code == 405, name
            elif allows(address.post, somebody, rows):
                assert_done(somebody, name, address, response, before)
                continue
            else:
                assert is_refused(somebody, response), (name, response.status_code)
            assert tables("jobs") == before, name


def assert_done(person, name, address, response, before):
    assert response.status_code == 302, (name, response.status_code)
    after = tables("jobs")
    entries = AuditEntry.objects.values_list("verb", "actor_key", "actor_name")
    assert list(entries) == [(address.verb, str(person.user.pk), "somebody")], name
    changed = {table for table in before if before[table] != after[table]}
    assert changed == {"AuditEntry", address.table}, name
    check_effect(address.verb, before[address.table], after[address.table])


GROWTH = {"run again": 1, "run": 1, "enqueue": 1, "backfill": 1, "add": 1, "delete": -1}


def check_effect(verb: str, before: list, after: list) -> None:
    new = [row for row in after if row not in before]
    assert len(after) == len(before) + GROWTH.get(verb, 0), verb
    assert len(new) == (0 if verb == "delete" else 1), verb
    if verb in ("run again", "run", "enqueue", "backfill"):
        assert new[0]["state"] == State.QUEUED
    expected = {
        "cancel": ("state", State.CANCELLED), "enable": ("is_enabled", True), "disable": ("is_enabled", False),
        "pause": ("is_paused", True), "resume": ("is_paused", False), "change": ("expression", "0 3 * * *"),
    }.get(verb)  # fmt: skip
    assert expected is None or new[0][expected[0]] == expected[1]


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "trace"])
def test_no_other_method_is_answered(operator, shared, method):
    runs = {"waiting": make_run(), "ended": make_run(State.FAILED)}
    before = tables()
    for name, address in ADDRESSES.items():
        response = getattr(operator, method)(address.of(name, shared | runs))
        assert response.status_code == 405, name
    assert getattr(operator, method)(url("health")).status_code == 405
    assert tables() == before


def test_every_rule_lets_somebody_in_and_keeps_somebody_out():
    for name, address in ADDRESSES.items():
        for rule in filter(None, (address.get, address.post)):
            people = [Person(None, frozenset(held.split("+")), False) for held in USERS.values() if held is not None]
            answers = {rule(each, {"is_own": False}) for each in people}
            assert answers == ({True} if rule is anybody else {True, False}), name


def test_a_part_of_an_open_page_is_loaded_anew_when_the_login_is_gone(client, shared):
    run = make_run()
    for name in ("run_live", "run_log"):
        response = client.get(url(name, run.pk), headers={"HX-Request": "true"})
        assert (response.status_code, response["HX-Refresh"], response.content) == (401, "true", b"")


def test_health_is_for_all_and_tells_nothing_about_jobs(client, shared):
    make_run()
    response = client.get(url("health"))
    assert (response.status_code, response.json()) == (200, {"is_working": True})
    assert client.post(url("health")).status_code == 405


# Where a person can go and what a person can do from each page, if they may.
NAVIGATION = {"dashboard", "runs", "jobs", "upcoming", "submit", "workers"}
CONTROLS = {
    ("dashboard", None): set(),
    ("runs", None): set(),
    ("run", "waiting"): {"run_cancel"},
    ("run", "ended"): {"run_again", "run_edit"},
    ("run", "running"): {"run_cancel"},
    ("jobs", None): {"job_run"},
    ("job", "job"): {
        "job_run", "job_disable", "schedule_add", "schedule", "schedule_disable", "schedule_backfill",
        "schedule_delete",
    },
    ("job", "disabled"): {
        "job_enable", "schedule_add", "schedule", "schedule_enable", "schedule_backfill", "schedule_delete",
    },
    ("upcoming", None): set(),
    ("schedule", "schedule"): {"schedule_backfill", "schedule_delete"},
    ("schedule_add", "job"): set(),
    ("schedule_delete", "schedule"): set(),
    ("schedule_backfill", "schedule"): set(),
    ("submit", None): {"submit_task"},
    ("workers", None): {"queue_pause", "queue_resume"},
}  # fmt: skip
ALL_CONTROLS = set.union(*CONTROLS.values())


def may_open(person, name, rows) -> bool:
    return allows(ADDRESSES[name].get or nobody_sends, person, rows)


def is_offered(person, name, rows) -> bool:
    """Whether the rules allow what stands behind a button or link."""
    if name in ("queue_pause", "queue_resume") and not person.has("view_queue"):
        return False  # the queues are not shown
    return allows(ADDRESSES[name].post or ADDRESSES[name].get, person, rows)


def shown_names(page: Page) -> set[str]:
    addresses = {each.partition("?")[0].partition("#")[0] for each in (*page.links, *page.posted_to)}
    found = {resolve(address) for address in addresses if address.startswith("/jobs/")}
    return {match.url_name for match in found}


def test_what_is_not_allowed_is_not_offered_and_what_is_allowed_is(somebody, rows):
    for (name, row), controls in CONTROLS.items():
        if not may_open(somebody, name, rows):
            continue
        response = somebody.client.get(url(name, *([rows[row].pk] if row else [])))
        page = Page(response.content.decode())
        shown = shown_names(page)
        assert shown & NAVIGATION == {each for each in NAVIGATION if may_open(somebody, each, rows)}, name
        wanted = {control for control in controls if is_offered(somebody, control, rows)}
        assert shown & ALL_CONTROLS == wanted, (name, row)
        assert all(may_open(somebody, each, rows) for each in shown - ALL_CONTROLS), (name, row)


def test_every_link_and_every_part_that_renews_itself_leads_to_what_this_person_may_open(somebody, rows):
    found = set()
    for name, row in CONTROLS:
        if may_open(somebody, name, rows):
            page = Page(somebody.client.get(url(name, *([rows[row].pk] if row else []))).content.decode())
            renewed = {attributes["hx-get"] for _, attributes in page.elements if "hx-get" in attributes}
            found |= {each.partition("#")[0] for each in page.links | renewed if each.startswith("/jobs/")}
    for address in found:
        assert somebody.client.get(address).status_code == 200, address


def test_a_person_sees_in_lists_what_they_have_submitted_and_nothing_else(person):
    client = person()
    own = make_run(by=client.user, state=State.RUNNING)
    foreign = [make_run(state, job_name="FOREIGN") for state in (State.RUNNING, State.FAILED, State.QUEUED)]
    for name in ("dashboard", "runs"):
        html = client.get(url(name)).content.decode()
        assert f"#{own.pk}<" in html
        assert "FOREIGN" not in html
        assert all(f"/runs/{run.pk}/" not in html for run in foreign)


def test_repetitions_of_a_run_by_others_are_not_named(person):
    client = person()
    own = make_run(State.FAILED, by=client.user)
    foreign, again = make_run(rerun_of_id=own.pk), make_run(rerun_of_id=own.pk, by=client.user)
    links = Page(client.get(url("run", own.pk)).content.decode()).links
    assert url("run", again.pk) in links
    assert url("run", foreign.pk) not in links


def test_a_deactivated_account_may_do_nothing(person):
    client = person("view_run", "cancel_run")
    run = make_run()
    User.objects.update(is_active=False)
    assert is_to_login(client.get(url("run", run.pk)))
    assert is_to_login(client.post(url("run_cancel", run.pk)))
    run.refresh_from_db()
    assert run.state == State.QUEUED


def test_what_does_not_exist(operator):
    run = make_run()
    for number in (0, run.pk + 1, 2**63, 10**30):
        for name in (
            "run", "run_live", "run_log", "run_json", "run_edit", "job", "job_run", "schedule_add", "schedule",
            "schedule_delete", "schedule_backfill",
        ):  # fmt: skip
            assert operator.get(url(name, number)).status_code == 404, (name, number)
        for name in (
            "run_cancel", "run_again", "job_enable", "job_disable", "schedule_add", "schedule", "schedule_delete",
            "schedule_enable", "schedule_disable", "schedule_backfill",
        ):  # fmt: skip
            assert operator.post(url(name, number)).status_code == 404, (name, number)
