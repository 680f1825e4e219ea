"""Functions in threads whose time is over, and those that are asked to end: what they are told, what is then stored."""

import asyncio
import concurrent.futures
import socket
import threading
import time
from datetime import timedelta

import pytest
from django.db import connection

import jobs
from jobs.lifecycle.explain import still_running
from jobs.models import Run
from tests.runtime.support import PATIENCE, states, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick_news")]

SHORT, LONG = timedelta(seconds=0.05), timedelta(hours=1)


def until(condition) -> None:
    """What a function does that looks around now and then."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)


def run_of(func) -> Run:
    run = func.enqueue()
    run.wait(PATIENCE)
    return run


def listen():
    run = jobs.current_run()
    until(lambda: run.cancel_requested)
    run.raise_if_cancelled()


class TestItListens:
    def test_it_has_timed_out(self, start, task):
        slow = task(timeout=SHORT)(listen)
        start()
        run = run_of(slow)
        assert (run.state, run.reason_code, run.failures) == ("failed", "timed_out", 1)
        assert run.reason == "It took longer than 0.05 seconds."
        (attempt,) = run.attempts.all()
        assert (attempt.outcome, attempt.error_class) == ("failed", "jobs.errors.TimedOut")
        assert attempt.message == "The run took longer than 0.05 seconds."

    def test_it_is_stuck(self, start, task):
        quiet = task(progress_timeout=SHORT)(listen)
        start()
        run = run_of(quiet)
        assert (run.state, run.reason) == ("failed", "It told no progress for 0.05 seconds.")

    def test_it_is_tried_again_if_it_may(self, start, task):
        slow = task(timeout=SHORT, max_attempts=2, backoff=SHORT)(listen)
        start()
        run = run_of(slow)
        assert (run.state, run.reason_code, run.failures) == ("failed", "timed_out", 2)

    @pytest.mark.parametrize(("rules", "failures"), [({"retry_on": KeyError}, 1), ({"retry_on": jobs.TimedOut}, 2)])
    def test_it_may_say_whether_that_is_worth_another_try(self, start, task, rules, failures):
        slow = task(timeout=SHORT, max_attempts=2, backoff=SHORT, **rules)(listen)
        start()
        assert run_of(slow).failures == failures

    def test_it_knows_how_much_is_left(self, start, task):
        seen = []

        @task(timeout=LONG)
        def look():
            seen.append(jobs.current_run().remaining)

        start()
        run_of(look)
        assert LONG.total_seconds() - PATIENCE < seen[0] <= LONG.total_seconds()

    def test_one_that_tells_its_progress_is_not_stuck(self, start, task):
        @task(progress_timeout=timedelta(seconds=PATIENCE))
        def tell():
            jobs.current_run().progress(1)
            return jobs.current_run().cancel_requested

        start()
        run = run_of(tell)
        assert (run.state, run.result) == ("succeeded", False)


class TestItDoesNotListen:
    def test_one_that_returns_late_has_succeeded_and_says_so(self, start, task):
        @task(timeout=SHORT)
        def late() -> int:
            until(lambda: jobs.current_run().cancel_requested)
            return 7

        start()
        run = run_of(late)
        assert (run.state, run.result, run.failures) == ("succeeded", 7, 0)
        assert run.reason == "It took longer than 0.05 seconds."

    def test_one_that_raises_something_of_its_own(self, start, task):
        @task(timeout=SHORT)
        def late():
            until(lambda: jobs.current_run().cancel_requested)
            raise KeyError("mine")

        start()
        run = run_of(late)
        assert (run.state, run.reason_code) == ("failed", "function_raised")

    def test_until_it_ends_it_works_keeps_its_thread_and_is_not_tried_again(self, start, task, ok, gate, caplog):
        """Two threads: one held by a function whose time is over, the other goes on with what waits."""

        @task(timeout=SHORT, max_attempts=2, backoff=SHORT)
        def deaf() -> int:
            gate()
            return jobs.current_run().attempt

        run = deaf.enqueue()
        start(threads=2)
        gate.wait_until_entered()
        wait_until(lambda: "should have ended and still works" in caplog.text)
        others = [ok.enqueue() for _ in range(4)]
        for other in others:
            other.wait(PATIENCE)
        run.refresh_from_db()
        assert (run.state, run.claim_no, run.failures) == ("running", 1, 0)
        assert still_running(run) == ["It has timed out and still works: it may take 0.05 seconds."]
        gate.open()
        run.wait(PATIENCE)
        assert (run.state, run.result, run.claim_no) == ("succeeded", 1, 1)


OWN = {
    "TimeoutError": TimeoutError,
    "asyncio": asyncio.TimeoutError,
    "concurrent.futures": concurrent.futures.TimeoutError,
    "socket": socket.timeout,
    "TimedOut": jobs.TimedOut,
}


@pytest.mark.parametrize("error", OWN.values(), ids=OWN)
def test_a_timeout_of_the_functions_own_is_an_exception_like_others(start, task, ok, error):
    @task(timeout=LONG)
    def ask():
        raise error("the server is slow")

    start()
    run = run_of(ask)
    assert run.state == ("cancelled" if error is jobs.TimedOut else "failed")
    assert run.reason_code == ("stopped_itself" if error is jobs.TimedOut else "function_raised")
    assert run_of(ok).state == "succeeded"


def spin():
    """Busy in Python, and hears nothing."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with_exception_held_up()


def with_exception_held_up():
    try:
        sum(range(100))
    except Exception:
        raise AssertionError("an `except Exception` has held it up") from None


class TestInterrupt:
    def test_a_busy_loop_ends_when_its_time_is_over(self, start, task):
        loop = task(timeout=SHORT, interrupt=True)(spin)
        start()
        run = run_of(loop)
        assert (run.state, run.reason_code) == ("failed", "timed_out")

    def test_it_ends_when_it_is_asked_to(self, start, task, gate):
        cleaned = []

        @task(interrupt=True)
        def loop():
            gate.entered.set()
            try:
                spin()
            finally:
                cleaned.append("finally")

        run = loop.enqueue()
        start()
        gate.wait_until_entered()
        assert run.cancel() == "requested"
        run.wait(PATIENCE)
        assert (run.state, run.reason, cleaned) == ("cancelled", "It was asked to end.", ["finally"])

    def test_its_connections_are_closed(self, start, task, gate):
        used = []

        @task(interrupt=True, name="runtime.query")
        def query(then_spin: bool) -> None:
            connection.ensure_connection()
            used.append(connection.connection)
            if then_spin:
                gate.entered.set()
                spin()

        start()
        run = query.enqueue(then_spin=True)
        gate.wait_until_entered()
        run.cancel()
        run.wait(PATIENCE)
        query.enqueue(then_spin=False).wait(PATIENCE)
        assert used[0] is not used[1]

    def test_one_that_ends_in_time_is_left_alone(self, start, task):
        quick = task(interrupt=True, timeout=LONG, name="runtime.quick")(lambda_free)
        start()
        assert run_of(quick).state == "succeeded"


def lambda_free():
    pass


class TestCancelOfWhatWorks:
    def test_it_is_never_tried_again(self, start, task):
        def raising(error):
            raise error

        ways = {
            "raises Cancelled": lambda: jobs.current_run().raise_if_cancelled(),
            "returns": lambda: 5,
            "raises": lambda: 1 / 0,
            "Retry": lambda: raising(jobs.Retry(after=0)),
            "Snooze": lambda: raising(jobs.Snooze(0)),
        }
        meeting = threading.Barrier(len(ways) + 1)

        @task(max_attempts=5, backoff=SHORT)
        def hold(way: str):
            meeting.wait(PATIENCE)
            until(lambda: jobs.current_run().cancel_requested)
            return ways[way]()

        runs = {way: hold.enqueue(way=way) for way in ways}
        start(threads=len(ways))
        meeting.wait(PATIENCE)
        for run in runs.values():
            assert run.cancel() == "requested"
            assert still_running(run) == ["It was asked to end. It works until its function does."]
        ends = {way: run.wait(PATIENCE) for way, run in runs.items()}
        assert {way: (run.state, run.reason_code, run.claim_no) for way, run in ends.items()} == {
            "raises Cancelled": ("cancelled", "stopped_by_request", 1),
            "returns": ("succeeded", "", 1),
            "raises": ("failed", "not_repeated", 1),
            "Retry": ("failed", "not_repeated", 1),
            "Snooze": ("cancelled", "stopped_by_request", 1),
        }

    def test_one_that_waits_claimed_never_starts(self, start, task, ok, gate):
        """It was taken ahead of a thread that is free; whoever cancels it then is told what happens to it."""

        @task
        def hold():
            gate()

        held, ahead = hold.enqueue(), ok.enqueue()
        start(threads=1)
        gate.wait_until_entered()
        answer = ahead.cancel()
        ahead.wait(PATIENCE)
        assert (ahead.state, ahead.executions) == ("cancelled", 0)
        assert answer in ("cancelled", "requested")
        gate.open()
        held.wait(PATIENCE)
        assert held.state == "succeeded"

    def test_a_stop_of_the_worker_ends_it(self, start, task, gate):
        @task
        def hold():
            gate()

        run = hold.enqueue()
        scheduler = start(threads=1)
        gate.wait_until_entered()
        run.cancel()
        scheduler.request_stop(0)
        assert scheduler.stopped.wait(PATIENCE)
        assert states([run]) == ["cancelled"]


def test_many_at_once_each_hear_of_their_own(start, task):
    heard, meeting = [], threading.Barrier(4)

    @task
    def hold(number: int):
        meeting.wait(PATIENCE)
        run = jobs.current_run()
        until(lambda: run.cancel_requested)
        heard.append(number)

    runs = [hold.enqueue(number=number) for number in range(4)]
    start(threads=4)
    wait_until(lambda: set(states(runs)) == {"running"})
    runs[2].cancel()
    runs[2].wait(PATIENCE)
    assert heard == [2]
    for run in runs:
        run.cancel()
    for run in runs:
        run.wait(PATIENCE)
    assert sorted(heard) == [0, 1, 2, 3]
