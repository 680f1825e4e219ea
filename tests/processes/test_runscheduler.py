"""`manage.py runscheduler`: executes, and ends in order. More about its end is in test_stop_signals."""

import signal
from datetime import timedelta

import pytest

from jobs.models import Run, RunLog, Worker
from tests.processes import tasks
from tests.processes.support import PATIENCE, no_problem
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

SIGNALS = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_it_executes_and_when_idle_ends_at_once(site, number):
    process = site.runscheduler()
    run = runtime_mark.enqueue().wait(PATIENCE)
    assert (run.state, run.result) == ("succeeded", process.pid)
    assert process.ends_by(number, within=10) == 0
    assert no_problem(process)
    assert "The scheduler works" in process.output
    assert "The scheduler has stopped" in process.output
    assert Worker.objects.get().state == "stopped"


def test_what_was_handed_back_does_not_run_on_while_the_process_ends(site):
    process = site.runscheduler("--grace", "0", RUNTIME_LINGER="yes")
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    assert process.ends_by(signal.SIGTERM, within=10) == 0
    assert (states([run]), site.executions("ended")) == (["queued"], {})
    assert "were handed back" in process.output


def test_the_next_one_runs_what_was_handed_back(site):
    first = site.runscheduler("--grace", "0")
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    assert first.ends_by(signal.SIGTERM, within=10) == 0
    site.runscheduler()
    wait_until(lambda: site.executions()[run.pk] == 2, PATIENCE)
    site.open_gate()
    run.wait(PATIENCE)
    assert (run.state, run.attempts.get().outcome) == ("succeeded", "interrupted")


def test_it_serves_the_queues_that_are_named(site):
    process = site.runscheduler("--queues", "a, b")
    other = runtime_mark.enqueue()
    for queue in ("a", "b"):
        assert runtime_mark.using(queue=queue, priority=50).enqueue().wait(PATIENCE).result == process.pid
    assert states([other]) == ["queued"]
    assert Worker.objects.get().queues == "a, b"


def test_drain_runs_all_that_is_due_and_ends(site):
    runs = runtime_mark.enqueue_many([{}] * 50)
    later = runtime_mark.using(run_after=timedelta(hours=1)).enqueue()
    past = runtime_mark.using(run_after=timedelta(hours=-1)).enqueue()
    process = site.manage("runscheduler", "--drain", "--threads", "2")
    assert process.wait() == 0
    assert set(states([*runs, past])) == {"succeeded"}
    assert states([later]) == ["scheduled"]
    assert site.executions() == {run.pk: 1 for run in [*runs, past]}
    assert no_problem(process)
    assert Worker.objects.get().state == "stopped"


def test_drain_with_nothing_to_do_ends_too(site):
    process = site.manage("runscheduler", "--drain")
    assert process.wait() == 0
    assert no_problem(process)


def test_two_of_them_execute_each_of_300_runs_exactly_once(site):
    processes = [site.runscheduler("--threads", "2") for _ in range(2)]
    held = runtime_hold.enqueue_many([{}] * 4)
    site.wait_until_begun(*held)
    assert {pid for _, _, pid, _ in site.marks} == {process.pid for process in processes}
    runs = runtime_mark.enqueue_many([{}] * 300)
    site.open_gate()
    wait_until(lambda: set(states(runs)) == {"succeeded"}, PATIENCE)
    assert site.executions() == {run.pk: 1 for run in [*held, *runs]}
    for process in processes:
        assert process.ends_by(signal.SIGTERM, within=10) == 0
        assert no_problem(process)
    assert not Run.objects.filter(state="running").exists()


def test_it_refuses_another_ageing_and_names_the_command_that_helps(site):
    site.runscheduler().ends_by(signal.SIGTERM, within=10)
    run = runtime_mark.using(priority=3).enqueue()
    process = site.manage("runscheduler", JOBS_AGEING_SECONDS="600")
    assert process.wait() == 78
    assert "rekeyruns" in process.output
    assert "600 seconds" in process.output
    assert "Traceback" not in process.output
    assert states([run]) == ["queued"]

    assert site.manage("rekeyruns", JOBS_AGEING_SECONDS="600").wait() == 0
    drain = site.manage("runscheduler", "--drain", JOBS_AGEING_SECONDS="600")
    assert drain.wait() == 0
    assert states([run]) == ["succeeded"]


def test_it_has_one_scheduler_whatever_autostart_says(site):
    process = site.runscheduler("--threads", "1", JOBS_AUTOSTART="on")
    assert runtime_mark.enqueue().wait(PATIENCE).result == process.pid
    wait_until(lambda: all(worker.beats >= 2 for worker in Worker.objects.all()))
    assert list(Worker.objects.values_list("kind", "threads")) == [("runscheduler", 1)]


def test_what_functions_print_is_in_their_logs_and_what_it_says_itself_is_not(site):
    process = site.runscheduler(PYTHONUNBUFFERED="1")
    run = tasks.print_one_line.enqueue(3).wait(PATIENCE)
    assert RunLog.objects.get(run=run).text == "beginxxxend\n"
    assert process.ends_by(signal.SIGTERM, within=10) == 0
    assert "beginxxxend" not in process.output
    assert "The scheduler has stopped" in process.output
