"""Servers that tell nobody when they begin and end, and hypercorn: what is asked of them is an orderly end."""

import signal
import sys
from pathlib import Path

import pytest

from jobs.models import Worker
from tests.processes.support import PATIENCE, free_port, no_problem, wait_for_answer
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

BIN = Path(sys.executable).parent


def start_server(site, name, **environment):
    package, command, workers = SERVERS[name][:3]
    pytest.importorskip(package)
    port = free_port()
    program, *options = command.format(port=port).split()
    server = site.start(str(BIN / program), *options, **environment)
    wait_until(lambda: Worker.objects.filter(state="alive", kind="web").count() == workers, PATIENCE)
    wait_for_answer(port)
    return server


# The package, the command, how many workers it has, and its exit code at SIGTERM.
HYPERCORN = "--bind 127.0.0.1:{port} config.asgi:application"
SERVERS = {
    "hypercorn": ("hypercorn", f"hypercorn {HYPERCORN}", 1, 0),
    "hypercorn --workers 2": (
        "hypercorn",
        f"hypercorn --workers 2 {HYPERCORN}",
        2,
        0,
    ),
    "hypercorn --workers 0": (
        "hypercorn",
        f"hypercorn --workers 0 {HYPERCORN}",
        1,
        0,
    ),
    "daphne": ("daphne", "daphne --port {port} config.asgi:application", 1, 0),
    "waitress-serve": ("waitress", "waitress-serve --listen 127.0.0.1:{port} config.wsgi:application", 1, -15),
}


@pytest.mark.parametrize("name", SERVERS)
def test_it_works_before_the_first_request_and_a_running_function_may_finish(site, name):
    server = start_server(site, name)
    workers, code = SERVERS[name][2:]
    assert runtime_mark.enqueue().wait(PATIENCE).state == "succeeded"
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    server.send(signal.SIGTERM)
    wait_until(lambda: not Worker.objects.filter(state="alive").exists(), PATIENCE)
    site.open_gate()
    assert server.wait() == code
    assert states([run]) == ["succeeded"]
    assert set(Worker.objects.values_list("state", flat=True)) == {"stopped"}
    assert Worker.objects.count() == workers
    assert no_problem(server)


@pytest.mark.parametrize("name", SERVERS)
def test_beyond_the_grace_it_hands_back(site, name):
    server = start_server(site, name, JOBS_GRACE_SECONDS="0.5")
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    assert server.ends_by(signal.SIGTERM, within=15) == SERVERS[name][3]
    assert states([run]) == ["queued"]
    assert no_problem(server)
