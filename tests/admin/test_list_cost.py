"""What the list pages ask the database: as much for fifty rows as for five, and nothing that grows with history."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.core.states import State
from jobs.lifecycle.audit import record
from jobs.models import Job
from tests.admin.support import make_run, make_worker, url

WIDE = ("arguments_json", "result_json", "options_json", "traceback")
COUNT = re.compile(r"\bCOUNT\(", re.IGNORECASE)
LIMIT = re.compile(r"\bLIMIT \d+", re.IGNORECASE)


def make_runs(count: int) -> None:
    for number in range(count):
        run = make_run(list(State)[number % len(State)], result_json='{"a": 1}', progress_done=1.0)
        run.attempts.create(number=1, outcome="failed", ended_at=run.enqueued_at, traceback="…")


def make_entries(count: int) -> None:
    run = make_run()
    for _ in range(count):
        record("cancel", run, actor="somebody", note="why")


MAKERS = {
    "run": make_runs,
    "worker": lambda count: [make_worker() for _ in range(count)],
    "auditentry": make_entries,
    "job": lambda count: [
        Job.objects.create(name=f"Job {Job.objects.count()}", task="tests.tasks.admin_greet") for _ in range(count)
    ],
}


def queries(client, model: str, **parameters) -> list[str]:
    """The statements behind a list page that do not belong to the login."""
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url(model), parameters).status_code == 200
    return [query["sql"] for query in captured if '"jobs_' in query["sql"]]


@pytest.mark.parametrize("model", MAKERS)
def test_the_number_of_queries_does_not_depend_on_the_number_of_rows(admin_client, model):
    MAKERS[model](5)
    with_five = queries(admin_client, model)
    MAKERS[model](45)
    with_fifty = queries(admin_client, model)
    assert with_five
    assert len(with_fifty) == len(with_five)


def test_wide_columns_are_not_read_for_the_list_of_runs(admin_client):
    make_runs(5)
    for sql in queries(admin_client, "run") + queries(admin_client, "run", q="Greet", state="queued"):
        assert not [column for column in WIDE if column in sql]


@pytest.mark.parametrize("model", ["run", "worker", "auditentry"])
@pytest.mark.parametrize("parameters", [{}, {"q": "x"}, {"p": "1"}])
def test_history_is_counted_up_to_a_limit_only(admin_client, model, parameters):
    MAKERS[model](3)
    counts = [sql for sql in queries(admin_client, model, **parameters) if COUNT.search(sql)]
    assert counts
    assert all(LIMIT.search(sql) for sql in counts)


def test_no_query_for_the_list_of_runs_reads_the_whole_history(admin_client):
    make_runs(51)  # more than a page: fewer rows than one holds are read without a limit
    unlimited = [sql for sql in queries(admin_client, "run") if "jobs_run" in sql and not LIMIT.search(sql)]
    assert unlimited == []


def test_the_page_of_a_run_asks_as_much_whatever_it_went_through(admin_client):
    run = make_run(State.FAILED)

    def ask() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert admin_client.get(url("run", "change", run.pk)).status_code == 200
        return len(captured)

    def go_through(numbers: range) -> None:
        for number in numbers:
            run.attempts.create(number=number, outcome="failed", ended_at=run.enqueued_at)
            run.log_chunks.create(attempt=number, number=1, text="line\n", written_at=run.enqueued_at)

    go_through(range(1, 2))
    once = ask()
    go_through(range(2, 20))
    assert ask() == once
