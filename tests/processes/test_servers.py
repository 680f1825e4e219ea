"""The embedded scheduler: a server executes runs beside its pages, and ends in order."""

import signal
import sys
from pathlib import Path

import pytest

from jobs.models import Run, Worker
from tests.processes.reloader import change_code, start_reloading
from tests.processes.support import PATIENCE, free_port, no_problem
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark


def gunicorn(site, *options, as_module=True, **environment):
    program = ["-m", "gunicorn"] if as_module else [str(Path(sys.executable).parent / "gunicorn")]
    address = f"unix:{site.folder / 'socket'}"
    return site.start(*program, "--bind", address, "--graceful-timeout", "25", *options, "config.wsgi", **environment)


def runserver(site, **environment):
    """Django's own server, when it listens: before, a ^C would end it in the middle of its start."""
    server = site.manage("runserver", "--noreload", f"127.0.0.1:{free_port()}", PYTHONUNBUFFERED="1", **environment)
    wait_until(lambda: "Quit the server" in server.output, PATIENCE)
    return server


SERVERS = {
    "python -m gunicorn": (gunicorn, 0),
    "gunicorn --preload": (lambda site: gunicorn(site, "--preload", as_module=False), 0),
    "gunicorn, threads": (lambda site: gunicorn(site, "--threads", "2", as_module=False), 0),
    "runserver --noreload": (runserver, -signal.SIGTERM),
}


@pytest.mark.parametrize(("start", "code"), SERVERS.values(), ids=SERVERS)
def test_it_executes_what_others_enqueue_and_ends_in_time(site, start, code):
    server = start(site)
    run = runtime_mark.enqueue().wait(PATIENCE)
    assert run.state == "succeeded"
    worker = Worker.objects.get()
    assert (worker.kind, worker.pid) == ("web", run.result)
    assert server.ends_by(signal.SIGTERM, within=15) == code
    assert no_problem(server)
    assert Worker.objects.get().state == "stopped"


@pytest.mark.parametrize(("start", "code"), SERVERS.values(), ids=SERVERS)
def test_a_running_function_may_finish(site, start, code):
    server = start(site)
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    server.send(signal.SIGTERM)
    if start is not SERVERS["gunicorn --preload"][0]:  # there the stop begins when the pages have ended
        wait_until(lambda: Worker.objects.filter(state="stopping").exists(), PATIENCE)
    site.open_gate()
    assert server.wait() == code
    assert states([run]) == ["succeeded"]
    assert site.executions() == {run.pk: 1}
    assert no_problem(server)


@pytest.mark.parametrize("start", [gunicorn, runserver])
def test_ctrl_c_ends_it_in_order_too(site, start):
    server = start(site)
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    server.send(signal.SIGINT)
    wait_until(lambda: Worker.objects.filter(state="stopping").exists(), PATIENCE)
    site.open_gate()
    assert server.wait() == 0
    assert states([run]) == ["succeeded"]
    assert no_problem(server)


@pytest.mark.parametrize("start", [gunicorn, runserver])
def test_beyond_the_grace_it_hands_back(site, start):
    server = start(site, JOBS_GRACE_SECONDS="0.5")
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    server.ends_by(signal.SIGTERM, within=15)
    assert states([run]) == ["queued"]
    assert Run.objects.get().interruptions == 1
    assert no_problem(server)


def test_two_workers_of_gunicorn_are_two_workers(site):
    server = gunicorn(site, "--workers", "2")
    wait_until(lambda: Worker.objects.filter(state="alive").count() == 2, PATIENCE)
    runs = runtime_mark.enqueue_many([{}] * 40)
    wait_until(lambda: set(states(runs)) == {"succeeded"}, PATIENCE)
    assert site.executions() == {run.pk: 1 for run in runs}
    assert server.ends_by(signal.SIGTERM, within=15) == 0


def test_with_autostart_off_it_starts_nothing(site):
    server = gunicorn(site, JOBS_AUTOSTART="off")
    wait_until(lambda: "Booting worker" in server.output, PATIENCE)
    wait_until(lambda: (site.folder / "socket").exists(), PATIENCE)
    assert server.ends_by(signal.SIGTERM, within=15) == 0
    assert not Worker.objects.exists()


def test_under_the_reloader_only_the_serving_child_has_one_before_and_after_a_reload(site):
    server = start_reloading(site)
    first = runtime_mark.enqueue().wait(PATIENCE).result
    assert first != server.pid

    change_code(site, server)
    wait_until(lambda: Worker.objects.filter(state="alive").exclude(pid=first).exists(), PATIENCE)
    second = runtime_mark.enqueue().wait(PATIENCE).result
    assert second not in (first, server.pid)
    assert list(Worker.objects.filter(state="alive").values_list("pid", flat=True)) == [second]
    assert Worker.objects.get(pid=first).state == "stopped"
    assert not Worker.objects.filter(pid=server.pid).exists()
