"""`kill -9`: nothing is lost, nothing that must not repeat is repeated, and everything is told in the history."""

import signal
from itertools import pairwise

from django.db.models import F

from jobs.lifecycle.status import status
from jobs.models import Attempt, Run, Worker
from tests.processes.support import PATIENCE, SWIFT
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_die, runtime_hold, runtime_mark


def kill(process) -> None:
    process.send(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_what_ran_is_run_again_or_fails_as_each_run_says(site):
    again = runtime_hold.enqueue_many([{}] * 2)
    never_again = runtime_hold.using(on_lost="fail").enqueue_many([{}] * 2)
    waiting = runtime_mark.using(priority=1).enqueue()
    first = site.runscheduler("--threads", "4")
    site.wait_until_begun(*again, *never_again)
    kill(first)
    assert states([*again, *never_again]) == ["running"] * 4

    second = site.runscheduler("--threads", "4", **SWIFT)
    assert waiting.wait(PATIENCE).result == second.pid  # the dead hold up nobody else
    for run in never_again:
        run.wait(PATIENCE)
    wait_until(lambda: [site.executions()[run.pk] for run in again] == [2, 2], PATIENCE)
    site.open_gate()
    for run in again:
        run.wait(PATIENCE)

    assert [(run.state, run.losses) for run in again] == [("succeeded", 1)] * 2
    assert [(run.state, run.reason_code) for run in never_again] == [("failed", "worker_lost")] * 2
    assert "Its worker stopped without a word" in never_again[0].reason
    assert site.executions() == {run.pk: 1 if run in never_again else 2 for run in [*again, *never_again]} | {
        waiting.pk: 1
    }
    assert Attempt.objects.filter(outcome="lost", number=1, worker_name__endswith=f":{first.pid}").count() == 4
    assert not Run.objects.filter(state="running").exists()
    assert Worker.objects.get(pid=first.pid).state == "dead"


def test_one_that_cannot_be_taken_keeps_none_of_the_others_and_is_tried_again(site, refuse):
    """Nobody takes the key of a run whose worker is dead, and the dead worker's row is gone."""
    stuck, holding, again = (runtime_hold.using(unique_key=key).enqueue() for key in ("a", "b", "c"))
    never_again = runtime_hold.using(on_lost="fail").enqueue()
    everybody = [stuck, holding, again, never_again]
    first = site.runscheduler("--threads", "4")
    site.wait_until_begun(*everybody)
    kill(first)
    Worker.objects.filter(pid=first.pid).delete()
    refused = runtime_hold.using(unique_key="b").enqueue()
    assert (refused.pk, refused.is_new) == (holding.pk, False)
    refuse(f"NEW.id = {stuck.pk}")
    second = site.runscheduler("--threads", "4", **SWIFT)
    wait_until(lambda: [site.executions()[run.pk] for run in (holding, again)] == [2, 2], PATIENCE)
    never_again.wait(PATIENCE)
    assert states(everybody) == ["running", "running", "running", "failed"]
    assert Attempt.objects.values("ended_at").distinct().count() == 1  # the same sweep took all three
    said = f"run {stuck.pk} cannot be taken from its worker"
    wait_until(lambda: second.output.count(said) >= 2, PATIENCE)
    refuse.end()
    wait_until(lambda: site.executions()[stuck.pk] == 2, PATIENCE)
    assert status()["runs"]["running"] == 3
    site.open_gate()
    for run in (stuck, holding, again):
        assert run.wait(PATIENCE).state == "succeeded"
        assert run.losses == 1
    assert sum(status()["runs"].values()) == 0
    assert site.executions() == {run.pk: 1 if run is never_again else 2 for run in everybody}


def test_how_soon_a_dead_worker_is_known(site):
    """Counted in the looks of the one that watches: as many as a silence has, and one before and one after."""
    beat, silence = 0.25, 2.0
    first = site.runscheduler("--threads", "1")
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    settings = {"JOBS_HEARTBEAT_SECONDS": str(beat), "JOBS_LOST_AFTER_SECONDS": str(silence)}
    second = site.runscheduler("--threads", "1", **settings)
    kill(first)
    looks = [looks_while_present(first, second)]
    wait_until(lambda: looks.append(looks_while_present(first, second)) or looks[-1] is None, PATIENCE)
    seen = [number for number in looks if number is not None]
    assert not seen or seen[-1] - seen[0] <= silence / beat + 2  # else the test itself stood still for so long
    wait_until(lambda: site.executions()[run.pk] == 2, PATIENCE)
    site.open_gate()
    assert run.wait(PATIENCE).losses == 1


def looks_while_present(watched, watching) -> int | None:
    """How often one worker has looked, or None if it has taken the other for dead; both read in one statement."""
    found = {worker.pid: worker for worker in Worker.objects.all()}
    return found[watching.pid].beats if found[watched.pid].state != "dead" else None


def test_a_worker_whose_row_was_pruned_is_dead_as_well(site):
    run = runtime_hold.enqueue()
    first = site.runscheduler()
    site.wait_until_begun(run)
    kill(first)
    Worker.objects.filter(pid=first.pid).delete()
    site.runscheduler(**SWIFT)
    site.open_gate()
    run.wait(PATIENCE)
    assert (run.state, run.losses) == ("succeeded", 1)


def test_a_run_that_kills_its_process_stops_and_the_innocent_succeed(site):
    poison = runtime_die.using(max_losses=3).enqueue()
    once = runtime_die.using(max_losses=1, queue="other").enqueue()
    innocent = runtime_mark.using(priority=1).enqueue_many([{}] * 30)
    for _ in range(10):  # whoever supervises it starts it again
        if set(states([poison, once])) == {"failed"}:
            break
        process = site.manage("runscheduler", "--threads", "1", **SWIFT)
        wait_until(lambda process=process: process.has_ended or set(states([poison, once])) == {"failed"}, PATIENCE)
    wait_until(lambda: set(states(innocent)) == {"succeeded"}, PATIENCE)

    executions = site.executions()
    assert (executions[poison.pk], executions[once.pk]) == (3, 1)
    assert {executions[run.pk] for run in innocent} == {1}
    for run, most in ((poison, 3), (once, 1)):
        run.refresh_from_db()
        assert (run.state, run.reason_code, run.losses) == ("failed", "worker_lost", most)
        assert f"({most} of {most} times)" in run.reason
        lost = run.attempts.order_by("number").values_list("number", "outcome")
        assert list(lost) == [(number, "lost") for number in range(1, most + 1)]
    begun = list(poison.attempts.order_by("number").values_list("started_at", flat=True))
    pauses = [(after - before).total_seconds() for before, after in pairwise(begun)]
    assert pauses[0] >= 1 + 1  # LOST_AFTER_SECONDS and the pause after the first loss
    assert pauses[1] >= 1 + 2


def test_killed_in_the_middle_of_many_runs_each_is_executed(site):
    """At every moment of the claim, the execution and the commit: no run is lost, and none that ended is repeated."""
    runs = runtime_mark.enqueue_many([{}] * 600)
    for number in range(3):
        process = site.runscheduler("--threads", "2", **SWIFT)
        wait_until(lambda number=number: len(site.marks) >= 100 * (number + 1), PATIENCE)
        kill(process)
        ended = set(Run.objects.filter(state="succeeded").values_list("pk", flat=True))
        before = site.executions()
    last = site.runscheduler("--threads", "2", **SWIFT)
    wait_until(lambda: set(states(runs)) == {"succeeded"}, PATIENCE)
    executions = site.executions()
    assert set(executions) == {run.pk for run in runs}
    assert all(executions[pk] == before[pk] for pk in ended)
    # A run that was begun and not stored is begun again, and its history says so.
    lost = dict(Run.objects.annotate(number=F("losses")).values_list("pk", "number"))
    assert all(executions[run.pk] <= lost[run.pk] + 1 for run in runs)
    assert last.ends_by(signal.SIGTERM, within=10) == 0
