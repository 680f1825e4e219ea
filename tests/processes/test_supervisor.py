"""`manage.py runscheduler --processes N`: a process that keeps others at work."""

import os
import signal

from jobs.models import Run, Worker
from tests.processes.support import PATIENCE, no_problem
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_die, runtime_hold, runtime_mark


def alive():
    return Worker.objects.filter(state="alive")


def supervised(site, *arguments, processes: int = 2, **environment):
    """A supervisor whose workers have begun to work."""
    process = site.manage("runscheduler", "--processes", str(processes), *arguments, **environment)
    wait_for_workers(process, processes)
    return process


def wait_for_workers(process, number: int) -> None:
    def have_begun():
        assert not process.has_ended, process.output
        return alive().count() == number

    wait_until(have_begun, PATIENCE)


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_each_process_is_a_worker_of_its_own_and_the_supervisor_is_none(site):
    process = supervised(site, "--threads", "1", processes=3)
    held = runtime_hold.enqueue_many([{}] * 3)
    site.wait_until_begun(*held)
    runs = runtime_mark.enqueue_many([{}] * 200)
    site.open_gate()
    wait_until(lambda: set(states(runs)) == {"succeeded"}, PATIENCE)
    assert site.executions() == {run.pk: 1 for run in [*held, *runs]}
    workers = dict(Worker.objects.values_list("pid", "threads"))
    assert set(workers.values()) == {1}
    assert len(workers) == 3
    assert process.pid not in workers
    assert process.ends_by(signal.SIGTERM, within=10) == 0
    assert set(Worker.objects.values_list("state", flat=True)) == {"stopped"}
    assert no_problem(process)
    assert "3 processes work. Ctrl-C stops them." in process.output
    assert "All processes have stopped." in process.output


def test_one_that_is_killed_is_replaced_its_run_is_repeated_and_the_others_are_not_disturbed(site):
    process = supervised(site, "--threads", "1")
    held = runtime_hold.enqueue_many([{}] * 2)
    site.wait_until_begun(*held)
    pids = {run: pid for run, _, pid, _ in site.marks}
    victim, other = pids[held[0].pk], pids[held[1].pk]
    before = Worker.objects.get(pid=other)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: alive().exclude(pid__in=[victim, other]).count() == 1, PATIENCE)
    wait_until(lambda: site.executions()[held[0].pk] == 2, PATIENCE)
    site.open_gate()
    assert [run.wait(PATIENCE).state for run in held] == ["succeeded"] * 2
    assert [run.losses for run in held] == [1, 0]
    assert (held[1].result, site.executions()[held[1].pk]) == (other, 1)
    after = Worker.objects.get(pid=other)
    assert (after.pk, after.state) == (before.pk, "alive")
    assert f"(pid {victim}) was ended by SIGKILL; the next one starts in 1 s" in process.output
    assert process.ends_by(signal.SIGTERM, within=10) == 0


def test_one_that_is_stopped_alone_stops_in_order_and_is_replaced(site):
    process = supervised(site, "--threads", "1")
    first = alive().first()
    os.kill(first.pid, signal.SIGTERM)
    wait_until(lambda: alive().exclude(pid=first.pid).count() == 2, PATIENCE)
    assert Worker.objects.get(pk=first.pk).state == "stopped"
    assert f"(pid {first.pid}) ended with exit code 0; the next one starts in 1 s" in process.output
    assert process.ends_by(signal.SIGTERM, within=10) == 0
    assert no_problem(process)


def test_a_run_that_kills_its_process_stops_and_the_innocent_succeed(site):
    poison = runtime_die.using(max_losses=3).enqueue()
    once = runtime_die.using(max_losses=1).enqueue()
    innocent = runtime_mark.using(priority=1).enqueue_many([{}] * 50)
    process = site.manage("runscheduler", "--processes", "2", "--threads", "1")
    wait_until(lambda: set(states([poison, once])) == {"failed"}, 2 * PATIENCE)
    wait_until(lambda: set(states(innocent)) == {"succeeded"}, PATIENCE)
    executions = site.executions()
    assert (executions[poison.pk], executions[once.pk]) == (3, 1)
    for run in (poison, once):
        run.refresh_from_db()
        assert (run.reason_code, run.losses) == ("worker_lost", executions[run.pk])
        assert list(run.attempts.values_list("outcome", flat=True)) == ["lost"] * run.losses
    losses = dict(Run.objects.values_list("pk", "losses"))
    assert all(1 <= executions[run.pk] <= 1 + losses[run.pk] for run in innocent)
    assert process.output.count("ended with exit code 137; the next one starts in") == 4
    wait_for_workers(process, 2)
    assert process.ends_by(signal.SIGTERM, within=10) == 0


def test_when_the_supervisor_is_killed_its_workers_stop_in_order(site):
    process = supervised(site, "--threads", "1")
    held = runtime_hold.enqueue_many([{}] * 2)
    site.wait_until_begun(*held)
    late = runtime_mark.enqueue()
    pids = [worker.pid for worker in alive()]
    process.send(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    wait_until(lambda: Worker.objects.filter(state="stopping").count() == 2, PATIENCE)
    site.open_gate()
    wait_until(lambda: not any(map(exists, pids)), PATIENCE)
    assert states([*held, late]) == ["succeeded", "succeeded", "queued"]
    assert set(Worker.objects.values_list("state", flat=True)) == {"stopped"}
    assert no_problem(process)


def test_what_a_terminal_or_service_manager_sends_to_all_of_them_is_one_request(site):
    process = supervised(site, "--threads", "1", "--grace", "1000")
    held = runtime_hold.enqueue_many([{}] * 2)
    site.wait_until_begun(*held)
    os.killpg(process.pid, signal.SIGINT)
    wait_until(lambda: Worker.objects.filter(state="stopping").count() == 2, PATIENCE)
    before = {worker.pk: worker.beats for worker in Worker.objects.all()}
    for worker in Worker.objects.all():
        os.kill(worker.pid, signal.SIGTERM)
    # They go on living, with the functions that they have.
    wait_until(lambda: all(worker.beats >= before[worker.pk] + 2 for worker in Worker.objects.all()), PATIENCE)
    site.open_gate()
    assert process.wait() == 0
    assert states(held) == ["succeeded"] * 2
    assert no_problem(process)


def test_a_refusal_is_told_once_and_ends_all(site):
    site.runscheduler().ends_by(signal.SIGTERM, within=10)
    run = runtime_mark.using(priority=3).enqueue()
    process = site.manage("runscheduler", "--processes", "2", JOBS_AGEING_SECONDS="600")
    assert process.wait() == 78
    assert process.output.count("CommandError: The waiting runs are ordered with an ageing of None") == 1
    assert "Traceback" not in process.output
    assert "the next one starts" not in process.output
    assert states([run]) == ["queued"]


def test_wrong_settings_are_told_once_before_anything_starts(site):
    process = site.manage("runscheduler", "--processes", "2", JOBS_THREADS="0")
    assert process.wait() == 78
    assert process.output.count("must be a whole number") == 1
    assert "is started" not in process.output


def test_drain_ends_when_all_have_ended(site):
    runs = runtime_mark.enqueue_many([{}] * 100)
    process = site.manage("runscheduler", "--drain", "--processes", "2", "--threads", "1")
    assert process.wait() == 0
    assert set(states(runs)) == {"succeeded"}
    assert site.executions() == {run.pk: 1 for run in runs}
    assert list(Worker.objects.values_list("state", flat=True)) == ["stopped"] * 2
    assert no_problem(process)


def test_a_drain_in_which_one_dies_goes_on_and_says_so(site):
    poison, once = runtime_die.enqueue(), runtime_mark.using(priority=1).enqueue()
    process = site.manage("runscheduler", "--drain", "--processes", "2", "--threads", "1")
    assert process.wait() == 1
    assert "CommandError: 1 of 2 processes did not end in order." in process.output
    assert states([poison, once]) == ["running", "succeeded"]  # the next worker that stays takes the poison over
    assert site.executions() == {poison.pk: 1, once.pk: 1}


def test_called_by_a_program_the_processes_are_not_supervisors_again(site):
    """They are started by the command line of the program, in which there is no --processes to leave out."""
    program = site.folder / "program.py"
    program.write_text(
        "import django\ndjango.setup()\n"
        "from django.core.management import call_command\ncall_command('runscheduler', processes=2)\n"
    )
    process = site.start(str(program))
    wait_for_workers(process, 2)
    assert process.output.count("is started: pid") == 2
    assert process.ends_by(signal.SIGTERM, within=10) == 0
    assert Worker.objects.count() == 2
    assert no_problem(process)
