"""What the list of runs asks the database: one index range, few rows of it, and no wide column."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.core.states import FINAL, State
from jobs.models import Run
from jobs.web import listing
from jobs.web.listing import list_runs
from tests.database import PRIMARY_KEY, plan_of
from tests.web.support import TASK, failed_with, make_job, make_run, url
from tests.web.test_listing import START, Viewer

pytestmark = pytest.mark.django_db
WIDE = ("arguments_json", "result_json", "options_json", "traceback", "jobs_runlog")
ROWS = 4000

DRIVERS = {
    "all": ({}, True, PRIMARY_KEY, ""),  # by the primary key, which is the order of the table itself
    "mine": ({"mine": True}, True, "jobs_run_of_submitter", "submitted_by_key=?"),
    "of somebody": ({"state": "failed"}, False, "jobs_run_of_submitter", "submitted_by_key=?"),
    "of a job": ({"job": 1}, True, "jobs_run_of_job", "job_id=?"),
    **{state: ({"state": state.value}, True, "jobs_run_finished", "state=?") for state in sorted(FINAL)},
    **{
        state: ({"state": state.value}, True, "jobs_run_claim", "state=?")
        for state in (State.QUEUED, State.RUNNING, State.BLOCKED)
    },
    "queued in one queue": ({"state": "queued", "queue": "q1"}, True, "jobs_run_claim", "state=? AND queue=?"),
    "scheduled": ({"state": "scheduled"}, True, "jobs_run_due", "state=?"),
}


class Job:
    pk = 1


@pytest.fixture(scope="module")
def many(django_db_setup, django_db_blocker):
    """A bigger table, with the statistics of which no plan may depend."""
    states = list(State)
    rows = [
        Run(
            task=TASK, state=states[number % 8].value, queue=f"q{number % 3}", priority=0, effective_priority=0,
            ready_at=START, order_key=number, enqueued_at=START, submitted_by_key=str(number % 9),
            due_at=START if states[number % 8] == State.SCHEDULED else None, job_id=number % 5 + 1,
            finished_at=START if states[number % 8] in FINAL else None,
        )
        for number in range(ROWS)
    ]  # fmt: skip
    with django_db_blocker.unblock():
        Run.objects.bulk_create(rows)
        yield
        Run.objects.all().delete()


def statements_of(filters: dict, sees_all: bool, after: str = "") -> tuple[list[str], listing.Listing]:
    given = {name: Job() if name == "job" else value for name, value in filters.items()}
    with CaptureQueriesContext(connection) as captured:
        found = list_runs(Viewer(sees_all), given, after)
    return [each["sql"] for each in captured], found


@pytest.mark.parametrize("left", [{}, {"task": TASK}, {"queue": "q1"}], ids=["", "task", "queue"])
@pytest.mark.parametrize("name", DRIVERS)
def test_every_page_is_a_range_of_an_index_in_its_order(many, monkeypatch, name, left):
    monkeypatch.setattr(listing, "PAGE", 5)
    filters, sees_all, index, condition = DRIVERS[name]
    first, page = statements_of(filters | left, sees_all)
    assert page.next
    following, _ = statements_of(filters | left, sees_all, page.next)
    for statement in (*first, *following):
        plan = plan_of(statement)
        assert not plan.has_sort, (plan.text, statement)
        # Where many rows are wanted, MariaDB may as well go down the primary key, which has the same order.
        allowed = [{index}, {PRIMARY_KEY}] if connection.vendor == "mysql" else [{index}]
        assert plan.indexes in allowed, (plan.text, statement)
        assert "LIMIT" in statement
        if condition and connection.vendor == "sqlite":
            assert f"SEARCH jobs_run USING INDEX {index} ({condition}" in plan.text.replace("COVERING ", ""), plan.text
    if connection.vendor == "sqlite":
        bounds = ("id<?", "rowid<?", "finished_at<?", "queue>?", "order_key>?", "due_at>?")
        assert any(bound in plan_of(following[-1]).text for bound in bounds), plan_of(following[-1]).text


def test_a_page_far_behind_looks_at_no_row_before_it(many):
    """The key bounds the range of the index: rows before it are not even skipped."""
    pages, after = [], ""
    for _ in range(5):
        statements, page = statements_of({"state": "succeeded"}, True, after)
        pages.append(statements)
        after = page.next
    assert {len(statements) for statements in pages} == {1}
    assert all("OFFSET" not in statement for statements in pages for statement in statements)


@pytest.mark.parametrize("query", [{}, {"state": "failed"}, {"state": "queued"}, {"queue": "default"}, {"mine": "on"}])
def test_the_page_asks_as_much_for_sixty_runs_as_for_ten(operator, query):
    counts = []
    for number in (10, 50):
        job = make_job(f"Job {number}")
        for _ in range(number):
            make_run(job_id=job.pk, by=operator.user)
            failed_with("no", by=operator.user)
        with CaptureQueriesContext(connection) as captured:
            assert operator.get(url("runs", **query)).status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 8
    for statement in (each["sql"] for each in captured if "jobs_run" in each["sql"]):
        assert not [column for column in WIDE if column in statement]
        assert not re.search(r"COUNT\(", statement)
