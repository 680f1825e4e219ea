"""What the dispatcher may expect of an executor."""

import threading

import pytest

from jobs.core.states import State
from jobs.core.wake import Flag
from jobs.lifecycle.claim import ClaimedRun
from jobs.runtime.context import RunContext
from jobs.runtime.executors.inline import InlineExecutor
from jobs.runtime.executors.threads import ThreadsExecutor
from jobs.runtime.limits import Limits
from tests.runtime.support import PATIENCE, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def make_context(task, number, order_key=0) -> RunContext:
    run = ClaimedRun(
        id=number, task=task.name, arguments_json="{}", order_key=order_key, claim_no=1, failures=0, losses=0,
        interruptions=0, snoozes=0, effective_priority=0, max_attempts=1, timeout_seconds=None, options_json=None,
        executor="", worker_id=1,
    )  # fmt: skip
    return RunContext(run, limits=Limits(None, None), stopping=Flag(), claimed_at=0.0, max_log_bytes=1024)


@pytest.fixture
def delivered():
    return []


@pytest.fixture
def work(delivered):
    """Start an executor; what it delivers is kept as (id, outcome)."""
    started = []

    def work(executor, may_start=lambda context: True):
        executor.start(may_start=may_start, deliver=lambda context, outcome: delivered.append((context.id, outcome)))
        started.append(executor)
        return executor

    yield work
    for executor in started:
        executor.stop()


@pytest.fixture(params=["threads", "inline"])
def executor(request):
    return ThreadsExecutor(1) if request.param == "threads" else InlineExecutor()


def test_each_run_is_delivered_once_with_its_outcome(work, executor, delivered, task, ok):
    @task
    def bad():
        raise ValueError("no")

    work(executor)
    contexts = [make_context(ok, 1), make_context(bad, 2)]
    for context in contexts:
        executor.submit(context)
    wait_until(lambda: len(delivered) == 2)
    assert [(number, outcome.state) for number, outcome in delivered] == [(1, State.SUCCEEDED), (2, State.FAILED)]
    assert all(context.has_started for context in contexts)
    assert not executor.take_back(contexts[0])


class TestThreads:
    @pytest.fixture
    def busy(self, work, task, gate):
        """An executor whose only thread waits at the gate."""

        @task
        def hold():
            gate()

        executor = work(ThreadsExecutor(1))
        executor.submit(make_context(hold, 0))
        gate.wait_until_entered()
        return executor

    def test_the_most_urgent_starts_next_however_late_it_came(self, busy, delivered, ok, gate):
        for number, key in ((1, 30), (2, 10), (3, 20), (4, 10)):
            busy.submit(make_context(ok, number, order_key=key))
        gate.open()
        wait_until(lambda: len(delivered) == 5)
        assert [number for number, _ in delivered] == [0, 2, 4, 3, 1]

    def test_what_is_taken_back_never_starts(self, busy, delivered, ok, gate):
        taken, left = make_context(ok, 1), make_context(ok, 2)
        busy.submit(taken)
        busy.submit(left)
        assert busy.take_back(taken) is True
        assert not taken.has_started
        gate.open()
        wait_until(lambda: len(delivered) == 2)
        assert [number for number, _ in delivered] == [0, 2]

    def test_what_may_not_start_is_delivered_without_an_outcome(self, work, delivered, task, ok):
        called = []

        @task
        def note():
            called.append(1)

        executor = work(ThreadsExecutor(1), may_start=lambda context: context.id != 1)
        refused = make_context(note, 1)
        executor.submit(refused)
        executor.submit(make_context(ok, 2, order_key=1))
        wait_until(lambda: len(delivered) == 2)
        assert delivered[0] == (1, None)
        assert not refused.has_started
        assert called == []

    def test_as_many_at_once_as_threads(self, work, delivered, task):
        meeting = threading.Barrier(3)

        @task
        def meet():
            meeting.wait(PATIENCE)

        executor = work(ThreadsExecutor(3))
        for number in range(3):
            executor.submit(make_context(meet, number))
        wait_until(lambda: len(delivered) == 3)
        assert {outcome.state for _, outcome in delivered} == {State.SUCCEEDED}

    def test_after_a_stop_nothing_starts_and_nobody_is_waited_for(self, busy, delivered, ok, gate):
        busy.submit(make_context(ok, 1))
        busy.stop()  # returns although the thread is held
        threads = [each for each in threading.enumerate() if each.name.startswith("jobs-worker")]
        gate.open()
        for thread in threads:
            thread.join(PATIENCE)
        assert [number for number, _ in delivered] == [0]
