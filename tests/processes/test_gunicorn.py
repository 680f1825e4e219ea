"""Two workers of gunicorn share the work: no run is executed twice, and none is lost, whoever ends and how."""

import os
import signal

import pytest

from jobs.models import Run, Worker
from tests.processes import tasks
from tests.processes.support import PATIENCE, no_problem
from tests.processes.test_servers import gunicorn
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

PRELOAD = pytest.mark.parametrize("options", [(), ("--preload",)], ids=["", "preload"])


def two_workers(site, options, **environment):
    """A gunicorn whose two workers are at work."""
    alive = Worker.objects.filter(state="alive")
    server = gunicorn(site, "--workers", "2", *options, **environment)
    wait_until(lambda: alive.count() == 2, PATIENCE)
    return server


def all_succeed(runs) -> None:
    wait_until(lambda: set(states(runs)) == {"succeeded"}, PATIENCE)


@PRELOAD
def test_each_of_200_runs_is_executed_once(site, options):
    server = two_workers(site, options)
    runs = [runtime_mark.enqueue() for _ in range(200)]
    all_succeed(runs)
    assert site.executions() == {run.pk: 1 for run in runs}
    assert server.ends_by(signal.SIGTERM, within=15) == 0
    assert set(Worker.objects.values_list("kind", "state")) == {("web", "stopped")}
    assert no_problem(server)


@PRELOAD
def test_sigterm_in_the_middle_loses_none(site, options):
    server = two_workers(site, options)
    runs = runtime_mark.enqueue_many([{}] * 100) + runtime_hold.enqueue_many([{}] * 8)
    runs += runtime_mark.enqueue_many([{}] * 92)
    site.wait_until_begun(*runs[100:108])  # all threads of both are in the middle of one
    server.send(signal.SIGTERM)
    site.open_gate()
    assert server.wait() == 0
    assert no_problem(server)
    assert set(states(runs[:108])) == {"succeeded"}
    assert not Run.objects.filter(state="running").exists()
    two_workers(site, options)
    all_succeed(runs)
    assert site.executions() == {run.pk: 1 for run in runs}


@PRELOAD
def test_a_child_that_is_killed_loses_none(site, options):
    two_workers(site, options)
    holding = runtime_hold.enqueue_many([{}] * 8)
    site.wait_until_begun(*holding)
    runs = runtime_mark.enqueue_many([{}] * 192)
    victim = Worker.objects.first()
    its_own = set(Run.objects.filter(worker_id=victim.pk, state="running").values_list("pk", flat=True))
    assert len(its_own) == 4
    os.kill(victim.pid, signal.SIGKILL)
    site.open_gate()
    all_succeed([*holding, *runs])
    executions = site.executions()
    assert {run for run, times in executions.items() if times == 2} == its_own
    assert set(executions.values()) == {1, 2}
    assert Worker.objects.get(pk=victim.pk).state == "dead"


@PRELOAD
def test_a_process_that_a_function_forks_has_no_scheduler(site, options):
    server = two_workers(site, options)
    child, has_one = tasks.use_multiprocessing.enqueue().wait(PATIENCE).result
    assert not has_one
    beats = {worker.pk: worker.beats for worker in Worker.objects.all()}
    wait_until(lambda: all(worker.beats >= beats[worker.pk] + 2 for worker in Worker.objects.all()), PATIENCE)
    assert Worker.objects.count() == 2
    assert not Worker.objects.filter(pid=child).exists()
    assert server.ends_by(signal.SIGTERM, within=15) == 0
    assert no_problem(server)
