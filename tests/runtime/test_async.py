"""Async functions: awaited on one event loop, many at once, and really cancelled."""

import asyncio
import functools
import threading
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections, transaction

import jobs
from jobs.models import Job, Run
from jobs.runtime import coroutines
from jobs.runtime.context import RunContext
from jobs.testing import drain
from tests.runtime.support import PATIENCE, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick_news")]

SHORT = timedelta(seconds=0.05)


def run_of(func, **parameters) -> Run:
    return func.enqueue(**parameters).wait(PATIENCE)


def test_it_is_awaited_and_its_result_stored(start, task):
    @task
    async def add(one: int, other: int) -> int:
        await asyncio.sleep(0)
        jobs.current_run().progress(1, total=2, message="half")
        return one + other

    start()
    run = run_of(add, one=2, other=3)
    assert (run.state, run.result, run.progress_done) == ("succeeded", 5, 1)


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


async def five(number: int = 5) -> int:
    await asyncio.sleep(0)
    return number


PLAIN = {
    "a wrapper": decorated(five),
    "one that returns a coroutine": lambda: five(),
    "one that returns what functools.partial gives": lambda: functools.partial(five, 5)(),
}


@pytest.mark.parametrize("function", PLAIN.values(), ids=PLAIN)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_plain_function_that_returns_a_coroutine(start, task, function):
    @task
    def call() -> int:
        return function()

    start()
    assert run_of(call).result == 5


def test_many_are_at_work_at_once_on_one_thread(start, task):
    """Each waits for all of them."""
    everybody = 8
    here, threads, all_here = [], set(), []

    @task
    async def meet():
        here.append(jobs.current_run().id)
        threads.add(threading.current_thread().name)
        if not all_here:
            all_here.append(asyncio.Event())
        if len(here) == everybody:
            all_here[0].set()
        await asyncio.wait_for(all_here[0].wait(), PATIENCE)
        return jobs.current_run().id

    runs = [meet.enqueue() for _ in range(everybody)]
    start(threads=everybody)
    for run in runs:
        run.wait(PATIENCE)
    assert [run.result for run in runs] == [run.pk for run in runs]
    assert threads == {"jobs-async"}


def test_the_orm_works_and_its_connection_is_closed(start, task):
    used = []

    @task
    async def store(name: str):
        await Job.objects.acreate(name=name, task="x")
        used.append(await sync_to_async(lambda: connection.connection)())

    start()
    for name in ("one", "other"):
        assert run_of(store, name=name).state == "succeeded"
    assert Job.objects.filter(name__in=("one", "other")).count() == 2
    assert used[0] is not used[1]
    with pytest.raises(Exception, match=r"(?i)closed|gone|2006|cannot operate"):
        used[0].cursor().execute("SELECT 1")


class TestHowItEnds:
    @pytest.mark.parametrize("error", [ValueError("no"), SystemExit("no"), KeyboardInterrupt("no")], ids=repr)
    def test_an_exception_ends_this_run_and_no_other(self, start, task, error):
        @task
        async def bad():
            await asyncio.sleep(0)
            raise error

        good = task(name="runtime.good")(five)
        start()
        run = run_of(bad)
        assert (run.state, run.reason_code) == ("failed", "function_raised")
        assert run.attempts.get().traceback.startswith("Traceback (most recent call last):\n")
        assert f"line {bad.func.__code__.co_firstlineno + 3}, in bad" in run.attempts.get().traceback
        assert run_of(good).result == 5

    def test_retry_and_snooze(self, start, task):
        @task(max_attempts=2, backoff=SHORT)
        async def busy() -> int:
            if jobs.current_run().attempt == 1:
                raise jobs.Snooze(0.01)
            if jobs.current_run().attempt == 2:
                raise ConnectionError
            return jobs.current_run().attempt

        start()
        run = run_of(busy)
        assert (run.result, run.failures, run.snoozes) == (3, 1, 1)

    def test_a_cancelled_error_of_its_own_is_an_exception(self, start, task):
        @task
        async def bad():
            raise asyncio.CancelledError

        start()
        run = run_of(bad)
        assert (run.state, run.attempts.get().error_class) == ("failed", "asyncio.exceptions.CancelledError")

    def test_its_time_is_over(self, start, task):
        cleaned = []

        @task(timeout=SHORT)
        async def endless():
            try:
                await asyncio.sleep(PATIENCE)
            finally:
                await asyncio.sleep(0)
                cleaned.append("finally")

        start()
        run = run_of(endless)
        assert (run.state, run.reason_code, cleaned) == ("failed", "timed_out", ["finally"])

    def test_it_is_asked_to_end(self, start, task, gate):
        @task
        async def endless():
            gate.entered.set()
            await asyncio.sleep(PATIENCE)

        run = endless.enqueue()
        start()
        gate.wait_until_entered()
        assert run.cancel() == "requested"
        assert run.wait(PATIENCE).reason == "It was asked to end."

    def test_one_that_swallows_the_cancellation_is_cancelled_again(self, start, task, monkeypatch):
        monkeypatch.setattr("jobs.runtime.context.STOP_AGAIN_SECONDS", 0.05)
        swallowed = []

        @task(timeout=SHORT)
        async def stubborn():
            for _ in range(2):
                try:
                    await asyncio.sleep(PATIENCE)
                except asyncio.CancelledError:
                    swallowed.append(1)
            await asyncio.sleep(PATIENCE)

        start()
        run = run_of(stubborn)
        assert (run.state, run.reason_code, len(swallowed)) == ("failed", "timed_out", 2)

    @pytest.mark.parametrize("swallows", [False, True])
    def test_synchronous_code_that_still_works_is_waited_for(self, start, task, gate, monkeypatch, swallows):
        """However often its coroutine is cancelled: the run has not ended, and is not tried again beside itself."""
        monkeypatch.setattr("jobs.runtime.context.STOP_AGAIN_SECONDS", 0.02)
        at_work, most, cancels = [], [], []

        @task(timeout=SHORT, max_attempts=2, backoff=SHORT)
        async def blocked() -> int | None:
            try:
                await sync_to_async(block)()
            except asyncio.CancelledError:
                if not swallows:
                    raise
            return 1

        def block():
            at_work.append(connection.connection)
            most.append(len(at_work))
            connection.ensure_connection()
            gate()
            at_work.pop()

        stop_if_must = RunContext.stop_if_must

        def counting(context):
            cancels.append(context.id)
            stop_if_must(context)

        monkeypatch.setattr(RunContext, "stop_if_must", counting)
        run = blocked.enqueue()
        start(threads=2)
        gate.wait_until_entered()
        wait_until(lambda: len(cancels) > 4)
        run.refresh_from_db()
        assert (run.state, run.failures, run.claim_no) == ("running", 0, 1)
        gate.open()
        run.wait(PATIENCE)
        if swallows:
            assert (run.state, run.result, run.reason_code) == ("succeeded", 1, "timed_out")
        else:
            assert (run.state, run.failures, run.result) == ("succeeded", 1, 1)  # the gate is open now
        assert max(most) == 1

    def test_one_that_returns_all_the_same_has_succeeded(self, start, task):
        @task(timeout=SHORT)
        async def stubborn() -> int:
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                return 1

        start()
        run = run_of(stubborn)
        assert (run.state, run.result, run.reason) == ("succeeded", 1, "It took longer than 0.05 seconds.")


def test_the_caller_of_a_drain_may_have_a_loop_of_its_own(task):
    good = task(name="runtime.good")(five)

    async def test():
        run = await sync_to_async(good.enqueue)()
        await sync_to_async(drain)()
        await sync_to_async(run.refresh_from_db)()
        await sync_to_async(connections.close_all)()  # those of the thread that did all this
        return run

    assert asyncio.run(test()).result == 5


def test_in_a_testcase_it_sees_what_the_test_has_stored(task):
    @task
    async def count() -> int:
        return await Job.objects.acount()

    with transaction.atomic():
        Job.objects.create(name="not committed", task="x")
        run = count.enqueue()
        drain()
        run.refresh_from_db()
        assert run.result == 1
        transaction.set_rollback(True)


def test_one_loop_serves_all_schedulers_of_a_process(start, task):
    loops = []

    @task
    async def look():
        loops.append(asyncio.get_running_loop())

    for _ in range(2):
        start()
        run_of(look)
    assert loops[0] is loops[1] is coroutines._loop_thread._loop
    assert wait_until(loops[0].is_running)
