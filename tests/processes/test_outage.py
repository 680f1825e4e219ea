"""The database goes away and comes back: no thread ends, no outcome is lost, nobody is taken for dead."""

import time

import pytest
from django.db import connection

from jobs.models import Run, Worker
from tests.browser.server import start_gunicorn
from tests.processes import tasks
from tests.processes.checks import (
    BEAT,
    LISTENER,
    SILENCE,
    WORKERS,
    nobody_was_lost,
    one_line_a_step,
    steps,
    wait_for_beats,
)
from tests.processes.locks import is_anybody_waiting, locked
from tests.processes.outages import end_all_sessions, frozen, killed, sessions, stopped
from tests.processes.support import PATIENCE
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

AWAY = {"stopped": stopped, "killed": killed, "frozen": frozen}

pytestmark = pytest.mark.usefixtures("server")


@pytest.mark.parametrize("away", AWAY.values(), ids=AWAY)
def test_longer_than_a_silence_with_functions_that_end_meanwhile(site, server, away):
    workers = [site.runscheduler("--threads", "2", **WORKERS) for _ in range(2)]
    long = runtime_hold.enqueue_many([{}] * 4)
    site.wait_until_begun(*long)
    waiting = runtime_mark.using(priority=1).enqueue_many([{}] * 50)
    start = time.monotonic()
    with away(server):
        site.open_gate()
        wait_until(lambda: len(site.executions("ended")) == 4)
        time.sleep(1.5 * SILENCE)  # this is the outage
    lasted = time.monotonic() - start
    wait_until(lambda: set(states([*long, *waiting])) == {"succeeded"}, PATIENCE)
    wait_for_beats(workers, 3)
    assert site.executions() == {run.pk: 1 for run in [*long, *waiting]}
    assert nobody_was_lost(2)
    for each in workers:
        assert one_line_a_step(each, *LISTENER)
        assert max(steps(each), default=0) <= BEAT
        # The pauses that it told of are the outage and its end, not more.
        assert sum(steps(each)) < lasted + 2 * SILENCE


def test_before_the_start(site, server):
    """The site serves what needs no database, and the scheduler begins by itself."""
    with stopped(server):
        process, _ = start_gunicorn(site, "--workers", "1")  # has answered
        wait_until(lambda: len(steps(process)) >= 3, PATIENCE)
    assert runtime_mark.enqueue().wait(PATIENCE).state == "succeeded"
    assert nobody_was_lost(1)
    assert one_line_a_step(process, "[INFO]", "Not Found: /no-such-page/", *LISTENER)


@pytest.mark.parametrize("cut", [False, True], ids=["restart", "sessions ended"])
def test_while_idle(site, server, cut):
    process = site.runscheduler(**WORKERS)
    runtime_mark.enqueue().wait(PATIENCE)
    if cut:
        end_all_sessions()
    else:
        with stopped(server):
            pass
    run = runtime_mark.enqueue().wait(PATIENCE)
    assert (run.state, run.claim_no) == ("succeeded", 1)
    assert nobody_was_lost(1)
    assert one_line_a_step(process, *LISTENER)


def test_when_the_outcome_is_being_saved(site, server):
    """Its statement waits for a lock when the server dies under it."""
    process = site.runscheduler(**WORKERS)
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    with locked(run):
        site.open_gate()
        wait_until(is_anybody_waiting, PATIENCE)
        with killed(server):
            pass
    assert run.wait(PATIENCE).state == "succeeded"
    assert site.executions() == {run.pk: 1}
    assert nobody_was_lost(1)
    assert one_line_a_step(process, *LISTENER)


def test_killed_in_the_middle_of_many_runs(site, server):
    """What was executed when the answer of a commit was lost is not executed again: the worker still knows."""
    workers = [site.runscheduler("--threads", "2", JOBS_LOST_AFTER_SECONDS="30") for _ in range(2)]
    runs = tasks.query_and_mark.enqueue_many([{}] * 400)
    for number in (100, 200):
        wait_until(lambda number=number: len(site.marks) >= number, PATIENCE)
        with killed(server):
            pass
    wait_until(lambda: not Run.objects.filter(state__in=["queued", "running"]).exists(), PATIENCE)
    assert site.executions() == {run.pk: 1 for run in runs}
    ends = dict(Run.objects.values_list("pk", "state"))
    # A function that asked the database meanwhile has failed, as it would anywhere; nothing else has.
    assert sum(state != "succeeded" for state in ends.values()) <= 2 * 4
    assert list(Worker.objects.values_list("state", flat=True)) == ["alive"] * len(workers)


def test_the_number_of_sessions(site, server):
    """A thread each for functions that use the database, one for the dispatcher, one to spare; on PostgreSQL one more
    that listens. The database may keep them for as long as it likes."""
    site.environment["DATABASE_URL"] += "?conn_max_age=600"
    threads, processes = 2, 2
    most = processes * (threads + 2 + (connection.vendor == "postgresql"))
    for _ in range(processes):
        site.runscheduler("--threads", str(threads))
    counts = []
    for outage in (None, end_all_sessions, None):
        if outage:
            outage()
        runs = tasks.query_and_mark.enqueue_many([{}] * 200)
        wait_until(lambda: counts.append(len(sessions())) or not has_open(runs), PATIENCE)  # noqa: B023
        assert max(counts) <= most
        assert counts[-1] >= processes


def has_open(runs) -> bool:
    return bool({"queued", "running"} & set(states(runs)))
