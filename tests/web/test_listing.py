"""The list of runs: all pages together show what fits, each run once, in the promised order."""

from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.core.states import FINAL, State
from jobs.models import Queue, Run
from jobs.web import listing
from jobs.web.listing import LATEST_ENDED, NEWEST, NEXT_DUE, NEXT_TO_START, list_runs
from tests.lifecycle.support import any_speed, rolled_back
from tests.web.support import Page, make_job, make_run, url

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 1, tzinfo=UTC)
QUEUES = ("default", "a~b", "~", "é & ü")
TASKS = ("tests.tasks.admin_greet", "tests.tasks.admin_fail")

# Few values for every column, so that keys are equal and pages end among equal ones.
rows = st.lists(
    st.fixed_dictionaries(
        {
            "state": st.sampled_from(list(State)),
            "queue": st.sampled_from(QUEUES),
            "task": st.sampled_from(TASKS),
            "order_key": st.integers(-2, 2),
            "job_id": st.sampled_from([None, 1, 2]),
            "submitted_by_key": st.sampled_from(["", "7", "8"]),
            "moment": st.integers(0, 2),
        }
    ),
    max_size=25,
)
filters = st.fixed_dictionaries(
    {},
    optional={
        "state": st.sampled_from(list(State)),
        "queue": st.sampled_from(QUEUES),
        "task": st.sampled_from(TASKS),
        "job": st.sampled_from([SimpleNamespace(pk=1), SimpleNamespace(pk=2)]),
        "mine": st.just(True),
    },
)


class Viewer:
    pk = 7
    is_authenticated = True

    def __init__(self, sees_all: bool):
        self._sees_all = sees_all

    def has_perm(self, name: str) -> bool:
        return name == "jobs.view_run" and self._sees_all


def put(state, moment, **columns) -> Run:
    at = START + timedelta(microseconds=moment)
    columns["due_at"] = at if state == State.SCHEDULED else None
    columns["finished_at"] = at if state in FINAL else None
    return make_run(state, **columns)


def fits(run: Run, chosen: dict, viewer: Viewer) -> bool:
    is_own = run.submitted_by_key == "7"
    if not is_own and (chosen.get("mine") or not viewer.has_perm("jobs.view_run")):
        return False
    wanted = {name: getattr(value, "pk", value) for name, value in chosen.items() if name != "mine"}
    return all(getattr(run, {"job": "job_id"}.get(name, name)) == value for name, value in wanted.items())


def promised(chosen: dict, viewer: Viewer):
    """The key by which the list is sorted, and whether it descends."""
    if chosen.get("mine") or not viewer.has_perm("jobs.view_run") or "job" in chosen or "state" not in chosen:
        return lambda run: -run.pk
    if chosen["state"] in FINAL:
        return lambda run: (-(run.finished_at - START), -run.pk)
    if chosen["state"] == State.SCHEDULED:
        return lambda run: (run.due_at, run.pk)
    return lambda run: (run.queue, run.order_key, run.pk)


def walk(viewer: Viewer, chosen: dict, between=lambda: None) -> list[Run]:
    """All pages, one after the other, as the links lead."""
    after, found, asked = "", [], set()
    while True:
        page = list_runs(viewer, chosen, after)
        assert len(page.runs) <= listing.PAGE
        assert bool(page.next) or not page.is_cut
        found += page.runs
        if not page.next:
            return found
        assert page.next not in asked, "the pages go round in a circle"
        asked.add(page.next)
        after = page.next
        between()


@any_speed
@given(stored=rows, chosen=filters, sees_all=st.booleans(), page=st.integers(1, 5), window=st.integers(1, 8))
def test_all_pages_show_each_run_that_fits_once_and_in_order(stored, chosen, sees_all, page, window):
    viewer = Viewer(sees_all)
    with rolled_back(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "PAGE", page)
        patch.setattr(listing, "WINDOW", window)
        runs = [put(**columns) for columns in stored]
        expected = sorted((run for run in runs if fits(run, chosen, viewer)), key=promised(chosen, viewer))
        assert [run.pk for run in walk(viewer, chosen)] == [run.pk for run in expected]


@any_speed
@given(stored=rows, later=rows, chosen=filters, page=st.integers(1, 5), window=st.integers(1, 8))
def test_what_comes_between_two_pages_neither_repeats_nor_hides_a_run(stored, later, chosen, page, window):
    viewer, coming = Viewer(True), iter(later)
    with rolled_back(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "PAGE", page)
        patch.setattr(listing, "WINDOW", window)
        runs = [put(**columns) for columns in stored]

        def come():
            for columns in [each for each in [next(coming, None)] if each]:
                put(**columns)

        shown = [run.pk for run in walk(viewer, chosen, come)]
        expected = sorted((run for run in runs if fits(run, chosen, viewer)), key=promised(chosen, viewer))
        known = {run.pk for run in runs}
        assert len(shown) == len(set(shown))
        assert [number for number in shown if number in known] == [run.pk for run in expected]


def test_runs_that_end_between_two_pages_are_not_shown_twice(monkeypatch):
    monkeypatch.setattr(listing, "PAGE", 2)
    numbers = count()
    for number in range(6):
        put(State.SUCCEEDED, number)

    def end():
        put(State.SUCCEEDED, 100 + next(numbers))

    assert len({run.pk for run in walk(Viewer(True), {"state": "succeeded"}, end)}) == 6


def test_the_page_that_is_cut_says_how_far_it_looked_and_goes_on(operator, monkeypatch):
    monkeypatch.setattr(listing, "WINDOW", 3)
    rare = make_run(queue="rare")
    for _ in range(4):
        make_run()
    page = Page(operator.get(url("runs", queue="rare")).content.decode())
    assert "runs were looked at" in page.text
    assert "No run fits" not in page.text
    assert url("run", rare.pk) not in page.links
    (further,) = [link for link in page.links if "after=" in link]
    page = Page(operator.get(url("runs") + further).content.decode())
    assert url("run", rare.pk) in page.links
    assert not [link for link in page.links if "after=" in link]


@pytest.mark.parametrize("queue", QUEUES)
def test_the_links_lead_through_all_pages(operator, monkeypatch, queue):
    monkeypatch.setattr(listing, "PAGE", 2)
    runs = [make_run(queue=queue, order_key=number) for number in range(5)]
    make_run(queue="another")
    address, seen = url("runs", state="queued", queue=queue), []
    for _ in range(3):
        page = Page(operator.get(address).content.decode())
        seen += [link for link in page.links if link.startswith(url("runs")) and link != url("runs")]
        following = [link for link in page.links if "after=" in link]
        address = url("runs") + following[0] if following else None
    assert address is None
    assert sorted(seen) == sorted(url("run", run.pk) for run in runs)


def test_the_first_page_renews_itself_and_the_others_stand_still(operator, monkeypatch):
    monkeypatch.setattr(listing, "PAGE", 1)
    runs = [make_run(), make_run()]
    first = Page(operator.get(url("runs", queue="default")).content.decode())
    assert first.by_id("runs")["hx-get"] == url("runs", queue="default")
    second = Page(operator.get(url("runs", queue="default", after=runs[1].pk)).content.decode())
    assert "hx-get" not in second.by_id("runs")
    assert "?queue=default" in second.links
    assert url("run", runs[0].pk) in second.links


BAD_KEYS = (
    "", "x", "~", "~~", "~~~", "1~2~3~4", "None", "1.5", "-1", "1e3", " ", "१२", "9" * 18, "9" * 40, "9" * 5000,
    "-" + "9" * 40, "x~1~1", "x~9" + "9" * 40 + "~1", "2026-11-01~1", "2026-11-01T00:00:00~1",
    "2026-11-01T00:00:00+00:00", "2026-11-01T00:00:00+00:00~1", "0001-01-01T00:00:00+23:59~1",
    "9999-12-31T23:59:59-23:59~1",
    "2026-11-01T00:00:00+00:00~" + "9" * 40, "0000-00-00T00:00:00+00:00~1", "default~1~" + "9" * 40, "' OR 1=1 --",
)  # fmt: skip


@pytest.mark.parametrize("after", BAD_KEYS)
def test_an_address_that_somebody_has_made_up_is_no_error(operator, after):
    put(State.SUCCEEDED, 0)
    for query in ({}, {"state": "succeeded"}, {"state": "queued"}, {"state": "scheduled"}, {"mine": "on"}):
        assert operator.get(url("runs", **query, after=after)).status_code == 200


@pytest.mark.parametrize(
    "query", [{"state": "x"}, {"job": "x"}, {"job": 99}, {"job": "9" * 40}, {"queue": "x" * 101}, {"task": "x" * 201}]
)
def test_a_filter_that_cannot_be_is_told_and_shows_no_runs(operator, query):
    run = make_run()
    page = Page(operator.get(url("runs", **query)).content.decode())
    assert [each for each in page.all("ul") if each.get("class") == "errorlist"]
    assert url("run", run.pk) not in page.links


def test_filters_that_a_person_may_not_use_do_nothing(person):
    """Nobody finds out by a filter what they may not see."""
    client, job = person(), make_job("Secret job")
    own, foreign = make_run(by=client.user), make_run(job_id=job.pk)
    for query in ({"job": job.pk}, {"mine": ""}, {"state": "queued"}):
        page = Page(client.get(url("runs", **query)).content.decode())
        assert url("run", own.pk) in page.links
        assert url("run", foreign.pk) not in page.links
        assert "Secret job" not in page.text
        assert not [each for each in page.all("select") if each["name"] == "job"]


def test_only_mine(person):
    client = person("view_run")
    own, foreign = make_run(by=client.user), make_run()
    links = Page(client.get(url("runs", mine="on")).content.decode()).links
    assert url("run", own.pk) in links
    assert url("run", foreign.pk) not in links


def test_the_filters_suggest_what_there_is(operator):
    Queue.objects.create(name="mail")
    make_job("Nightly", queue="night")
    html = operator.get(url("runs")).content.decode()
    for suggested in ("tests.tasks.admin_greet", "mail", "night", "default"):
        assert f'<option value="{suggested}">' in html
    assert ">Nightly</option>" in html


def test_a_key_is_written_and_read_back():
    keys = {
        NEWEST: (5,), LATEST_ENDED: (START + timedelta(microseconds=1), 5), NEXT_DUE: (START, 1),
        NEXT_TO_START: ("a~b~c", -3, 7),
    }  # fmt: skip
    for order, key in keys.items():
        assert order.read(order.write(key)) == key
