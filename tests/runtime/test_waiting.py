"""Runs that wait for other runs: it works as long as one thread is left, and is refused at once when none is."""

import threading

import pytest

import jobs
from jobs.core.crew import Crew
from jobs.models import Run
from jobs.registry import registry
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chain(task):
    """A function that enqueues itself for one less and waits for that; 0 has nothing to wait for."""

    @task
    def chain(length: int) -> int:
        if length == 0:
            return 0
        next_one = registry.get("runtime.chain").enqueue(length=length - 1).wait(PATIENCE)
        return next_one.result + 1 if next_one.state == "succeeded" else -1

    return chain


@pytest.mark.parametrize("threads", [2, 3])
def test_one_that_waits_for_one_that_can_work(start, chain, threads):
    run = chain.enqueue(length=threads - 1)
    start(threads=threads)
    assert run.wait(PATIENCE).result == threads - 1


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_last_thread_does_not_wait_and_so_nobody_waits_for_ever(start, chain, threads):
    run = chain.enqueue(length=threads)
    start(threads=threads)
    run.wait(PATIENCE)
    (refused,) = Run.objects.filter(state="failed")
    assert refused.attempts.get().error_class == "jobs.lifecycle.waiting.NoFreeThread"
    said = refused.attempts.get().message
    assert "no thread of its worker would be left to work. Raise THREADS" in said
    assert said.startswith(f"Run {refused.pk} cannot wait for run {refused.pk + 1}: ")
    assert run.state == ("failed" if threads == 1 else "succeeded")


def test_one_that_waits_for_itself(start, task):
    @task
    def narcissus():
        Run.objects.get(pk=jobs.current_run().id).wait(PATIENCE)

    run = narcissus.enqueue()
    start(threads=4)
    assert run.wait(PATIENCE).state == "failed"
    assert "waits for its own end" in run.reason


def test_what_has_ended_is_waited_for_by_anybody(start, task, ok):
    @task
    def look_back(number: int) -> str:
        return Run.objects.get(pk=number).wait(PATIENCE).state

    start(threads=1)
    old = ok.enqueue().wait(PATIENCE)
    assert look_back.enqueue(number=old.pk).wait(PATIENCE).result == "succeeded"


def test_who_has_waited_may_be_followed_by_another():
    crew = Crew(2)
    for _ in range(3):
        with crew.one_waits() as may_wait:
            assert may_wait
            with crew.one_waits() as may_another:
                assert not may_another


def test_of_many_who_come_at_once_one_is_left():
    crew, barrier, answers = Crew(8), threading.Barrier(8, timeout=PATIENCE), []

    def come():
        barrier.wait()
        with crew.one_waits() as may_wait:
            answers.append(may_wait)
            barrier.wait()

    threads = [threading.Thread(target=come, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(answers) == [False] + [True] * 7
