"""What the list pages ask the database: as much for fifty rows as for five, and nothing that grows with history."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.core import clock
from jobs.core.states import FINAL, State
from jobs.lifecycle.audit import record
from jobs.models import Job, Queue, Run
from tests.admin.support import make_run, make_schedule, make_worker, url
from tests.database import in_one_spelling, plan_of

WIDE = ("arguments_json", "result_json", "options_json", "traceback")
COUNT = re.compile(r"\bCOUNT\(", re.IGNORECASE)
LIMIT = re.compile(r"\bLIMIT \d+", re.IGNORECASE)


def make_runs(count: int) -> None:
    for number in range(count):
        run = make_run(list(State)[number % len(State)], result_json='{"a": 1}', progress_done=1.0)
        run.attempts.create(number=1, outcome="failed", ended_at=run.enqueued_at, traceback="…")


def make_entries(count: int) -> None:
    targets = make_run(), make_job(), Queue.objects.get_or_create(name="mail")[0]
    for _ in range(count):
        for target in targets:
            record("cancel", target, actor="somebody", note="why")


def make_job() -> Job:
    return Job.objects.create(name=f"Job {Job.objects.count()}", task="tests.tasks.admin_greet")


def make_queues(count: int) -> None:
    for _ in range(count):
        queue = Queue.objects.create(name=f"queue {Queue.objects.count()}")
        make_run(queue=queue.name)


MAKERS = {
    "run": make_runs,
    "worker": lambda count: [make_worker() for _ in range(count)],
    "auditentry": make_entries,
    "job": lambda count: [make_job() for _ in range(count)],
    "schedule": lambda count: [make_schedule(make_job()) for _ in range(count)],
    "queue": make_queues,
}


def queries(client, model: str, **parameters) -> list[str]:
    """The statements behind a list page that do not belong to the login."""
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url(model), parameters).status_code == 200
    return [query["sql"] for query in captured if '"jobs_' in in_one_spelling(query["sql"])]


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

    ask()  # what Django keeps in memory after the first time is not counted
    go_through(range(1, 2))
    once = ask()
    go_through(range(2, 20))
    assert ask() == once


@pytest.mark.parametrize("state", [None, *sorted(FINAL)])
def test_no_list_of_what_has_ended_is_sorted_by_hand(admin_client, state):
    """However long history is, the page that is shown is read in the order of an index."""
    make_runs(60)
    parameters = {} if state is None else {"state__exact": state}
    pages = [
        sql
        for sql in queries(admin_client, "run", **parameters)
        if re.search("FROM .jobs_run. .*ORDER BY", sql) and not COUNT.search(sql)
    ]
    assert pages
    for sql in pages:
        assert not plan_of(sql).has_sort, plan_of(sql).text


def test_what_has_ended_is_listed_from_the_last_end_on(admin_client):
    runs = [make_run(State.FAILED) for _ in range(3)]
    Run.objects.filter(pk=runs[0].pk).update(finished_at=clock.now())
    listed = admin_client.get(url("run"), {"state__exact": "failed"}).context["cl"].result_list
    assert [run.pk for run in listed] == [runs[0].pk, runs[2].pk, runs[1].pk]
