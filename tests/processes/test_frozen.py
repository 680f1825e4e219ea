"""A worker that is slow lives; one that is frozen for too long loses its runs, and does no harm when it thaws."""

import os
import signal
import time
from datetime import timedelta

import pytest
from django.db import connection

from jobs.models import Run, Worker
from tests.processes import switches, tasks
from tests.processes.checks import beats, wait_for_beats
from tests.processes.freezing import freeze, is_stopped, thaw
from tests.processes.support import PATIENCE
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

BEAT, SILENCE = 0.5, 4.0
WORKERS = {"JOBS_HEARTBEAT_SECONDS": str(BEAT), "JOBS_LOST_AFTER_SECONDS": str(SILENCE)}
# Of two workers, the one that shall take the other for dead, and the one that must not.
HASTY = {"JOBS_HEARTBEAT_SECONDS": "0.5", "JOBS_LOST_AFTER_SECONDS": "3"}
PATIENT = {"JOBS_HEARTBEAT_SECONDS": "0.5", "JOBS_LOST_AFTER_SECONDS": "30"}


def alive() -> set[str]:
    return set(Worker.objects.values_list("state", flat=True))


def test_a_function_that_takes_longer_than_a_silence_may_is_executed_once(site):
    """So is one that keeps its whole process from working again and again, and one that waits for its time."""
    workers = [site.runscheduler("--threads", "3", **WORKERS) for _ in range(2)]
    long = runtime_hold.enqueue()
    greedy = tasks.hold_the_gil.enqueue(stretches=3, seconds=3 * BEAT)
    later = runtime_mark.using(run_after=timedelta(seconds=2 * SILENCE)).enqueue()
    site.wait_until_begun(long, greedy)
    before = [beats(each) for each in workers]
    assert Run.objects.get(pk=later.pk).worker_id is None  # what waits for its time has no owner
    looks = 3 * SILENCE / BEAT

    def have_looked_for_three_silences():
        return max(beats(each) - start for each, start in zip(workers, before, strict=True)) >= looks

    wait_until(have_looked_for_three_silences, PATIENCE)
    wait_until(lambda: greedy.pk in site.executions("ended"), PATIENCE)
    site.open_gate()
    for run in (long, greedy, later):
        assert run.wait(PATIENCE).state == "succeeded"
        assert run.losses == 0
    assert site.executions() == {long.pk: 1, greedy.pk: 1, later.pk: 1}
    assert alive() == {"alive"}


def test_a_frozen_worker_thaws_after_its_run_was_taken(site):
    frozen = site.runscheduler("--threads", "1", **PATIENT)
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    freeze(frozen)
    other = site.runscheduler("--threads", "1", **HASTY)
    wait_until(lambda: site.executions()[run.pk] == 2, PATIENCE)
    dead = Worker.objects.get(pid=frozen.pid)
    thaw(frozen)
    site.open_gate(attempt=1)
    goes_on_as_a_new_worker(site, run, frozen, dead)
    assert Run.objects.get(pk=run.pk).worker_id == Worker.objects.get(pid=other.pid).pk

    site.open_gate(attempt=2)
    run.wait(PATIENCE)
    assert (run.state, run.result, run.losses, run.failures) == ("succeeded", other.pid, 1, 0)
    assert run.attempts.get().outcome == "lost"
    assert other.ends_by(signal.SIGTERM, within=10) == 0
    assert runtime_mark.enqueue().wait(PATIENCE).result == frozen.pid


def goes_on_as_a_new_worker(site, run, process, dead) -> None:
    """The old function ends and changes nothing; the old identity is dead and gives no more signs of life."""
    wait_until(lambda: site.executions("ended")[run.pk] == 1, PATIENCE)
    wait_until(lambda: "was taken for dead: it drops what it held" in process.output, PATIENCE)
    assert Run.objects.get(pk=run.pk).state == "running"
    wait_until(lambda: Worker.objects.filter(pid=process.pid).count() == 2, PATIENCE)
    old, new = Worker.objects.filter(pid=process.pid).order_by("pk")
    assert (old.state, old.beats, new.state) == ("dead", dead.beats, "alive")


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one lock, which nobody can take from its holder")
def test_a_worker_that_freezes_in_the_middle_of_its_transaction_holds_up_nobody(site):
    """It has locked its own row, which others write when they declare it dead, until the server ends its session."""
    frozen = site.runscheduler("--threads", "1", **HASTY, RUNTIME_SWITCHES=str(site.folder))
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    others = [site.runscheduler("--threads", "1", **HASTY) for _ in range(2)]
    (site.folder / switches.FREEZE).write_text("SELECT id, beats FROM jobs_worker")
    wait_until(lambda: is_stopped(frozen), PATIENCE)
    wait_until(lambda: site.executions()[run.pk] == 2, PATIENCE)
    dead = Worker.objects.get(pid=frozen.pid)
    thaw(frozen)
    site.open_gate(attempt=1)
    goes_on_as_a_new_worker(site, run, frozen, dead)
    site.open_gate(attempt=2)
    assert run.wait(PATIENCE).state == "succeeded"
    assert list(Worker.objects.filter(pid__in=[each.pid for each in others]).values_list("state", flat=True)) == [
        "alive",
        "alive",
    ]


def test_a_function_that_stops_its_whole_process_for_too_long_loses_its_run(site):
    """Nobody can tell it from a process that is frozen, and it does as little harm."""
    os.mkfifo(site.folder / "marks.fifo")
    held = site.runscheduler("--threads", "1", **PATIENT)
    run = tasks.hold_the_gil_once.enqueue()
    site.wait_until_begun(run)
    other = site.runscheduler("--threads", "1", **HASTY)
    wait_until(lambda: site.executions()[run.pk] == 2, PATIENCE)
    dead = Worker.objects.get(pid=held.pid)
    (site.folder / "marks.fifo").write_bytes(b"")  # lets it go on
    goes_on_as_a_new_worker(site, run, held, dead)

    site.open_gate()
    run.wait(PATIENCE)
    assert (run.state, run.result, run.losses) == ("succeeded", other.pid, 1)
    assert site.executions() == {run.pk: 2}


def test_when_all_are_frozen_and_thaw_nobody_takes_the_others_for_dead(site):
    workers = [site.runscheduler("--threads", "1", **WORKERS) for _ in range(3)]
    runs = runtime_hold.enqueue_many([{}] * 3)
    site.wait_until_begun(*runs)
    for each in workers:
        freeze(each)
    time.sleep(1.5 * SILENCE)  # this is what happens: nothing, for so long
    for each in workers:
        thaw(each)
    wait_for_beats(workers, 4)
    site.open_gate()
    wait_until(lambda: set(states(runs)) == {"succeeded"}, PATIENCE)
    assert site.executions() == {run.pk: 1 for run in runs}
    assert set(Run.objects.values_list("losses", flat=True)) == {0}
    assert alive() == {"alive"}
    assert not any("was taken for dead" in each.output for each in workers)
