"""SIGTERM and SIGINT to `runscheduler`, idle, busy and impatient: the same with one process and with several."""

import signal
from datetime import timedelta

import pytest

from jobs.models import Run, Worker
from tests.processes.support import PATIENCE, no_problem
from tests.processes.tasks import take_a_signal
from tests.processes.test_supervisor import supervised
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

WAYS = {
    "one process": lambda site, *options: site.runscheduler("--threads", "2", *options),
    "two processes": lambda site, *options: supervised(site, "--threads", "1", *options),
}
ways = pytest.mark.parametrize("start", WAYS.values(), ids=WAYS)
signals = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)


def busy(site, start, *options):
    """One that holds two runs of which one must not be repeated, and behind them one that waits."""
    process = start(site, *options)
    held = [runtime_hold.enqueue(), runtime_hold.using(on_lost="fail").enqueue()]
    site.wait_until_begun(*held)
    return process, held, runtime_mark.enqueue()


def wait_until_stopping() -> None:
    """Until every worker has begun to stop."""
    wait_until(lambda: set(Worker.objects.values_list("state", flat=True)) <= {"stopping", "stopped"}, PATIENCE)


@ways
@signals
def test_idle_it_ends_at_once(site, start, number):
    process = start(site)
    assert process.ends_by(number, within=10) == 0
    assert no_problem(process)
    assert set(Worker.objects.values_list("state", flat=True)) == {"stopped"}


@ways
@signals
def test_functions_that_end_within_the_grace_succeed_and_no_other_starts(site, start, number):
    process, held, waiting = busy(site, start)
    process.send(number)
    wait_until_stopping()
    site.open_gate()
    assert process.wait() == 0
    assert states([*held, waiting]) == ["succeeded", "succeeded", "queued"]
    assert site.executions() == {run.pk: 1 for run in held}
    assert no_problem(process)


@ways
def test_beyond_the_grace_what_runs_is_handed_back_and_that_is_written_before_the_end(site, start):
    process, held, waiting = busy(site, start, "--grace", "0.5")
    assert process.ends_by(signal.SIGTERM, within=15) == 0
    assert states([*held, waiting]) == ["queued", "failed", "queued"]
    assert list(Run.objects.order_by("pk").values_list("interruptions", "losses")) == [(1, 0), (1, 0), (0, 0)]
    assert not Run.objects.filter(state="running").exists()
    assert "were handed back" in process.output
    site.open_gate()
    assert site.executions("ended") == {}
    assert no_problem(process)


@ways
@signals
def test_a_second_signal_ends_the_time_of_grace(site, start, number):
    process, held, waiting = busy(site, start, "--grace", "1000")
    process.send(signal.SIGTERM)
    wait_until_stopping()
    assert process.ends_by(number, within=15) == 0
    assert states([*held, waiting]) == ["queued", "failed", "queued"]
    assert site.executions("ended") == {}
    assert no_problem(process)


@signals
def test_a_signal_is_not_slept_through_when_the_system_gives_it_to_another_thread(site, number):
    """So it does with one of two that come at once, and the main thread sleeps on."""
    process = site.runscheduler("--threads", "1")
    runtime_mark.enqueue().wait(PATIENCE)
    run = take_a_signal.enqueue(number)
    assert process.wait() == 0
    assert states([run]) == ["succeeded"]
    assert no_problem(process)


@ways
def test_what_falls_due_between_the_signal_and_the_end_is_neither_started_nor_lost(site, start):
    process, held, _ = busy(site, start)
    process.send(signal.SIGTERM)
    wait_until_stopping()
    due = runtime_mark.using(run_after=timedelta(milliseconds=1)).enqueue()
    site.open_gate()
    assert process.wait() == 0
    assert site.executions() == {run.pk: 1 for run in held}
    start(site)
    assert due.wait(PATIENCE).state == "succeeded"
    assert site.executions()[due.pk] == 1
