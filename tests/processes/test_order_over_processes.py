"""Many processes, one order: whoever claims takes the most urgent run that can be had, and every run is taken once."""

import os
import random
import signal
import threading
import time
from collections import Counter

import pytest
from django.db import connections

from benchmarks.turns import Claimed, Ready, claimed, out_of_turn
from jobs.models import Run
from tests.processes.claim_record import CLAIMS, EXECUTIONS, executions, recorded_work
from tests.processes.support import PATIENCE
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold

PRODUCERS = 3
# How many runs each producer enqueues, and how long they take; JOBS_TEST_MILLION=1 sets the full scale.
SHARE, MILLISECONDS = (1000, 200) if os.environ.get("JOBS_TEST_MILLION") else (200, 60)


@pytest.fixture
def workers(site):
    """A function that starts worker processes which write down what they claim and execute."""
    site.environment |= {CLAIMS: str(site.folder / "claims"), EXECUTIONS: str(site.folder / "executions")}
    return lambda count, threads: [site.runscheduler("--threads", str(threads)) for _ in range(count)]


def produce(count: int, seed: int, enqueued: list[Ready]) -> None:
    """Enqueue runs of random priority and length, at random moments, about as fast as six threads can execute them."""
    chance = random.Random(seed)
    for _ in range(count):
        run = recorded_work.using(priority=chance.randrange(-100, 101, 20)).enqueue(chance.randint(5, MILLISECONDS))
        enqueued.append(Ready(run.pk, run.order_key, time.monotonic_ns()))
        time.sleep(chance.expovariate(6000 / MILLISECONDS))
    connections.close_all()


def all_succeeded(count: int) -> bool:
    return Run.objects.filter(state="succeeded").count() == count


def test_the_most_urgent_goes_first_whoever_claims_it(site, workers):
    workers(3, threads=2)
    enqueued = []
    producers = [threading.Thread(target=produce, args=(SHARE, seed, enqueued)) for seed in range(PRODUCERS)]
    for each in producers:
        each.start()
    for each in producers:
        each.join()
    wait_until(lambda: all_succeeded(SHARE * PRODUCERS), 4 * PATIENCE)
    done = [run for run, _, _ in executions(site.folder / "executions")]
    assert sorted(done) == sorted(run.id for run in enqueued)
    claims = claimed(site.folder / "claims")
    assert {claim.id for claim in claims} == set(done)
    assert out_of_turn(enqueued, claims) == []


def test_the_judge_sees_a_claim_out_of_turn():
    """The same claims, two of them exchanged."""
    enqueued = [Ready(id=n, order_key=n, returned=n) for n in range(3)]
    in_turn = [Claimed(id=n, began=10 + 2 * n, ended=11 + 2 * n) for n in range(3)]
    assert out_of_turn(enqueued, in_turn) == []
    swapped = [Claimed(0, 12, 13), Claimed(1, 10, 11), in_turn[2]]
    assert out_of_turn(enqueued, swapped) == [(enqueued[1], enqueued[0])]
    side_by_side = [Claimed(0, 10, 13), Claimed(1, 10, 11), in_turn[2]]
    assert out_of_turn(enqueued, side_by_side) == []
    given_back = [Claimed(1, 5, 6), in_turn[0], Claimed(1, 12, 13, claim_no=2), in_turn[2]]
    assert out_of_turn(enqueued, given_back) == [(enqueued[1], enqueued[0])]
    rolled_back = [Claimed(1, 5, 6), *in_turn]
    assert out_of_turn(enqueued, rolled_back) == []


def test_five_hundred_runs_are_shared_by_six_claimers(site, workers):
    started = workers(3, threads=2)
    runs = recorded_work.enqueue_many([{"milliseconds": 50}] * 500)
    wait_until(lambda: all_succeeded(500), PATIENCE)
    done = executions(site.folder / "executions")
    assert sorted(run for run, _, _ in done) == [run.pk for run in runs]
    shares = Counter((process, thread) for _, process, thread in done)
    assert {process for process, _ in shares} == {worker.pid for worker in started}
    assert len(shares) == 6
    assert min(shares.values()) >= 10, shares

    late = recorded_work.enqueue(1)  # they have become idle, each with a connection that has seen nothing of it
    assert late.wait(PATIENCE).state == "succeeded"
    assert [worker.ends_by(signal.SIGTERM, within=PATIENCE) for worker in started] == [0, 0, 0]


def test_two_workers_with_two_long_runs_both_become_busy(site):
    runs = runtime_hold.enqueue_many([{}] * 2)
    started = [site.manage("runscheduler", "--threads", "1") for _ in range(2)]
    site.wait_until_begun(*runs)
    assert {pid for _, _, pid, _ in site.marks} == {worker.pid for worker in started}
    site.open_gate()
    wait_until(lambda: set(states(runs)) == {"succeeded"}, PATIENCE)
