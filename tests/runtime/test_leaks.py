"""What a function leaves behind in its thread does not reach the next one."""

import decimal
import sqlite3
from contextvars import ContextVar
from datetime import timedelta
from threading import get_ident

import pytest
from django.db import connection, transaction
from django.utils import timezone, translation

import jobs
from jobs.models import Queue, Run
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

own = ContextVar("own", default="untouched")


class TestContext:
    def test_language_zone_decimals_and_context_variables_are_fresh_for_every_run(self, start, task):
        seen = []

        @task
        def spoil():
            translation.activate("de")
            timezone.activate("Asia/Tokyo")
            decimal.getcontext().prec = 3
            own.set("spoilt")
            seen.append(look())

        @task(name="runtime.look")
        def report():
            seen.append(look())

        def look():
            return (
                get_ident(),
                translation.get_language(),
                timezone.get_current_timezone_name(),
                decimal.getcontext().prec,
                own.get(),
            )

        spoil.enqueue()
        run = report.enqueue()
        start(threads=1)
        run.wait(PATIENCE)
        (thread, *spoilt), (same_thread, *fresh) = seen
        assert same_thread == thread
        assert spoilt == ["de", "Asia/Tokyo", 3, "spoilt"]
        assert fresh == ["en-us", "UTC", 28, "untouched"]

    def test_what_the_enqueuer_had_set_does_not_reach_the_run(self, start, task):
        seen = []

        @task
        def look():
            seen.append((translation.get_language(), own.get()))

        start(threads=1)
        token = own.set("the enqueuer's")
        with translation.override("fr"):
            run = look.enqueue()
        own.reset(token)
        run.wait(PATIENCE)
        assert seen == [("en-us", "untouched")]

    def test_the_current_run_does_not_stay_either(self, start, task):
        ids = []

        @task
        def look():
            ids.append(jobs.current_run().id)

        runs = [look.enqueue(), look.enqueue()]
        start(threads=1)
        runs[1].wait(PATIENCE)
        assert ids == [run.pk for run in runs]


def insert(name: str) -> None:
    Queue.objects.create(name=name)


def leave_atomic_open():
    transaction.atomic().__enter__()
    insert("left")


def raise_in_atomic_that_stays_open():
    leave_atomic_open()
    raise ValueError("away")


def set_autocommit_off():
    transaction.set_autocommit(False)
    insert("left")


def begin_by_hand():
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
    insert("left")


def close_the_connection():
    connection.close()


def close_the_drivers_connection():
    """Behind Django's back: whatever one asks a closed SQLite connection, it raises."""
    connection.ensure_connection()
    connection.connection.close()


def break_an_atomic_block():
    with transaction.atomic():
        insert("left")
        transaction.set_rollback(True)


def leave_a_cursor_open():
    with transaction.atomic():
        insert("kept")
    cursor = connection.cursor()
    cursor.execute("SELECT * FROM jobs_queue")
    cursor.fetchone()


BODIES = {
    leave_atomic_open: "succeeded",
    raise_in_atomic_that_stays_open: "failed",
    set_autocommit_off: "succeeded",
    begin_by_hand: "succeeded",
    close_the_connection: "succeeded",
    close_the_drivers_connection: "succeeded",
    break_an_atomic_block: "succeeded",
    leave_a_cursor_open: "succeeded",
}


class TestConnections:
    @pytest.mark.skipif(connection.vendor != "sqlite", reason="BEGIN by hand is looked for on SQLite")
    @pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
    def test_what_was_not_committed_is_rolled_back_and_the_next_run_works(self, start, task, body):
        threads = []

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
        assert [run.state for run in runs] == [BODIES[body], "succeeded"]
        assert threads[0] == threads[1]
        assert set(Queue.objects.values_list("name", flat=True)) - {"kept"} == {"good"}

    def test_what_a_function_commits_stays_even_if_it_fails_then(self, start, task):
        @task
        def bad():
            insert("committed")
            raise ValueError("too late")

        run = bad.enqueue()
        start(threads=1)
        assert run.wait(PATIENCE).state == "failed"
        assert Queue.objects.filter(name="committed").exists()

    def test_hooks_of_a_transaction_left_open_never_run(self, start, task, ok):
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

    def test_a_function_may_enqueue(self, start, task, ok):
        children = []

        @task
        def parent():
            with transaction.atomic():
                children.append(ok.enqueue())

        run = parent.enqueue()
        start(threads=1)
        run.wait(PATIENCE)
        assert children[0].wait(PATIENCE).state == "succeeded"


@pytest.mark.skipif(connection.vendor != "sqlite", reason="BEGIN IMMEDIATE is SQLite's")
def test_no_lock_is_held_while_a_function_works(start, task, gate, ok):
    """Somebody else can write at once: no transaction waits for the end of the function."""

    @task
    def hold():
        Run.objects.count()
        gate()

    run = hold.enqueue()
    ok.using(run_after=timedelta(hours=1)).enqueue()
    start(threads=2)
    gate.wait_until_entered()
    other = sqlite3.connect(connection.settings_dict["NAME"], timeout=1.0, isolation_level=None)
    try:
        for _ in range(20):  # and at any time, also between two signs of life
            other.execute("BEGIN IMMEDIATE")
            other.execute("UPDATE jobs_run SET progress_message = 'written from outside' WHERE id = ?", [run.pk])
            other.execute("COMMIT")
    finally:
        other.close()
    assert not gate.opened.is_set()
    run.refresh_from_db()
    assert (run.state, run.progress_message) == ("running", "written from outside")
