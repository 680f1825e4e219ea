"""`executor="processes"`, with real workers: what dies, what is killed, and that nobody is left."""

import signal
from datetime import timedelta

import pytest

from benchmarks.servers.system import is_alive
from jobs.models import Run
from tests.processes.support import PATIENCE, SWIFT
from tests.processes.tasks import count_calls, end_own_process, listen_to_nobody, take_memory
from tests.runtime.support import wait_until
from tests.tasks import runtime_hold, runtime_mark

SHORT = timedelta(seconds=0.5)
in_children = {"JOBS_EXECUTOR": "processes"}


def run_of(task, **parameters) -> Run:
    return task.enqueue(**parameters).wait(PATIENCE)


def helpers(site) -> list[int]:
    return [int(word.partition(":")[2]) for *_, word in site.marks if word.startswith("helper:")]


def pids(site) -> set[int]:
    """The processes that have executed something."""
    return {pid for _, _, pid, word in site.marks if word == "begun"}


def test_a_process_that_ends_costs_attempts_of_its_own_run_only(site):
    """Poison at the head of the queue: it is executed as often as it may be, and all others run meanwhile."""
    ways = {0: "exit code 0", 3: "exit code 3", -signal.SIGKILL: "signal 9 (SIGKILL)"}
    poison = {how: end_own_process.using(priority=-1, max_losses=2).enqueue(how=how) for how in ways}
    once = end_own_process.using(priority=-1, on_lost="fail").enqueue(how=137)
    innocent = runtime_mark.enqueue_many([{}] * 30)
    worker = site.runscheduler("--threads", "2", **in_children)
    for run in [*poison.values(), once, *innocent]:
        run.wait(PATIENCE)
    assert {run.state for run in innocent} == {"succeeded"}
    assert [run.losses for run in innocent] == [0] * len(innocent)
    for how, run in poison.items():
        assert (run.state, run.losses, run.failures, site.executions()[run.pk]) == ("failed", 2, 0, 2)
        assert run.reason == f"The process of its function ended by itself: {ways[how]} (2 of 2 times)."
        assert [attempt.outcome for attempt in run.attempts.all()] == ["lost", "lost"]
    assert (once.state, once.losses, site.executions()[once.pk]) == ("failed", 1, 1)
    assert worker.pid not in pids(site)
    assert worker.ends_by(signal.SIGTERM, within=PATIENCE) == 0
    assert not any(map(is_alive, pids(site)))


def test_children_are_kept_warm_replaced_in_time_and_start_no_scheduler(site):
    site.runscheduler("--threads", "1", JOBS_PROCESS_RUNS="3", JOBS_AUTOSTART="on")
    found = [run_of(count_calls).result for _ in range(4)]
    assert [calls for calls, _, _ in found] == [1, 2, 3, 1]
    assert len({pid for _, pid, _ in found}) == 2
    assert {dispatchers for _, _, dispatchers in found} == {0}


def test_memory_is_limited(site):
    site.runscheduler("--threads", "1", JOBS_PROCESS_MEMORY_BYTES=str(300 * 2**20))
    small, large, again = (run_of(take_memory, megabytes=size) for size in (20, 400, 20))
    assert (small.state, again.state) == ("succeeded", "succeeded")
    assert (large.state, large.attempts.get().error_class) == ("failed", "MemoryError")


def test_a_function_that_listens_to_nobody_is_killed_with_all_that_it_started(site):
    slow = listen_to_nobody.using(timeout=SHORT).enqueue()
    unwanted = listen_to_nobody.enqueue()
    site.runscheduler("--threads", "2")
    site.wait_until_begun(slow, unwanted)
    assert unwanted.cancel() == "requested"
    for run in (slow, unwanted):
        run.wait(PATIENCE)
        assert run.attempts.get().message.endswith("It did not end by itself: it was killed.")
    assert (slow.state, slow.reason_code, slow.failures) == ("failed", "timed_out", 1)
    assert (unwanted.state, unwanted.reason, unwanted.failures) == ("cancelled", "It was asked to end.", 0)
    gone = [*pids(site), *helpers(site)]
    assert len(gone) == 4
    wait_until(lambda: not any(map(is_alive, gone)), PATIENCE)
    assert run_of(runtime_mark).state == "succeeded"


def test_they_end_with_a_worker_that_is_killed(site):
    run = listen_to_nobody.using(on_lost="fail").enqueue()
    held = runtime_hold.using(executor="processes").enqueue()
    worker = site.runscheduler("--threads", "2")
    site.wait_until_begun(run, held)
    first = [*pids(site), *helpers(site)]
    worker.send(signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, first)), PATIENCE)
    site.runscheduler("--threads", "2", **SWIFT)
    assert run.wait(PATIENCE).reason_code == "worker_lost"
    wait_until(lambda: site.executions()[held.pk] == 2, PATIENCE)
    site.open_gate()
    assert held.wait(PATIENCE).losses == 1


@pytest.mark.parametrize("grace", ["0.5", "20"])
def test_a_stop_waits_for_them_and_then_ends_them(site, grace):
    """What ends within its grace has succeeded; what does not is handed back, and ended: it must not run on beside its
    next execution."""
    run = runtime_hold.using(executor="processes").enqueue()
    worker = site.runscheduler("--threads", "1", JOBS_GRACE_SECONDS=grace)
    site.wait_until_begun(run)
    worker.send(signal.SIGTERM)
    if grace == "20":
        site.open_gate()
    assert worker.wait() == 0
    run.refresh_from_db()
    assert (run.state, run.interruptions) == (("succeeded", 0) if grace == "20" else ("queued", 1))
    assert not any(map(is_alive, pids(site)))


def test_a_child_that_cannot_load_the_site_costs_attempts_and_says_so(site):
    run = runtime_mark.using(executor="processes", max_losses=1).enqueue()
    site.runscheduler("--threads", "1", RUNTIME_BROKEN_CHILDREN="yes")
    run.wait(PATIENCE)
    assert (run.state, run.reason_code, site.executions()[run.pk]) == ("failed", "process_ended", 0)
    assert "exit code 1" in run.reason
