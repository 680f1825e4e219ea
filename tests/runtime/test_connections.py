"""The database connections that a function leaves behind in its thread: the next one gets what it may expect."""

from threading import get_ident

import pytest
from django.db import connection, transaction

from jobs.models import Queue
from tests.runtime.left_behind import (
    BODIES,
    SETTINGS,
    insert,
    leave_rows_unread,
    left_behind,
    raise_an_integrity_error,
    set_the_session,
)
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=[0, 600], ids=["closed after each run", "kept"], autouse=True)
def max_age(request, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", request.param)
    return request.param


@pytest.fixture
def go_through(start, task):
    """Run a function and then a good one, in one thread; give the states, and the names that were inserted."""
    threads = []

    def go_through(body) -> tuple[list[str], set[str]]:
        @task
        def bad():
            threads.append(get_ident())
            body()

        @task
        def good():
            threads.append(get_ident())
            with transaction.atomic():
                insert("good")

        runs = [bad.enqueue(), good.enqueue()]
        start(threads=1)
        for run in runs:
            run.wait(PATIENCE)
        assert threads[0] == threads[1]
        return [run.state for run in runs], set(Queue.objects.values_list("name", flat=True))

    yield go_through
    left_behind.clear()


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_what_was_not_committed_is_rolled_back_and_the_next_run_works(go_through, body, max_age):
    if body is leave_rows_unread and connection.vendor == "sqlite" and max_age:
        pytest.skip("SQLite does not tell that a statement still reads")
    states, names = go_through(body)
    assert states == [BODIES[body], "succeeded"]
    assert {name for name in names if not name.startswith("kept")} == {"good"}


@pytest.mark.parametrize("name", SETTINGS)
def test_what_a_function_sets_for_its_session_ends_with_it(go_through, name):
    states, names = go_through(set_the_session(SETTINGS[name]))
    assert states == ["succeeded", "succeeded"]
    assert names == {"good"}


def test_a_connection_that_nobody_has_changed_is_kept_as_the_settings_say(start, task, max_age):
    seen = []

    @task
    def look():
        Queue.objects.count()
        with transaction.atomic():
            insert(f"queue {len(seen)}")
        seen.append(connection.connection)

    look.enqueue()
    run = look.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert (seen[0] is seen[1]) == (max_age > 0)


def test_a_failure_is_told_with_its_traceback(start, task):
    @task
    def bad():
        raise_an_integrity_error()

    run = bad.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert run.reason.startswith("The function raised django.db.utils.IntegrityError: ")
    assert "in raise_an_integrity_error" in run.attempts.get().traceback


def test_that_queries_are_collected_ends_with_the_run(start, task):
    seen = []

    @task
    def collect():
        connection.force_debug_cursor = True
        Queue.objects.count()
        seen.append(len(connection.queries) > 0)

    @task
    def count():
        Queue.objects.count()
        seen.append((connection.force_debug_cursor, len(connection.queries)))

    collect.enqueue()
    run = count.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert seen == [True, (False, 0)]


def test_what_a_function_commits_stays_even_if_it_fails_then(start, task):
    @task
    def bad():
        insert("committed")
        raise ValueError("too late")

    run = bad.enqueue()
    start(threads=1)
    assert run.wait(PATIENCE).state == "failed"
    assert Queue.objects.filter(name="committed").exists()


def test_hooks_of_a_transaction_left_open_never_run(start, task, ok):
    called = []

    @task
    def bad():
        transaction.atomic().__enter__()
        transaction.on_commit(lambda: called.append("left"))

    @task
    def good():
        with transaction.atomic():
            transaction.on_commit(lambda: called.append("good"))

    bad.enqueue()
    run = good.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert called == ["good"]


def test_a_function_may_enqueue(start, task, ok):
    children = []

    @task
    def parent():
        with transaction.atomic():
            children.append(ok.enqueue())

    run = parent.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert children[0].wait(PATIENCE).state == "succeeded"
