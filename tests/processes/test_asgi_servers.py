"""The embedded scheduler in ASGI servers, which tell by the lifespan protocol when they begin and end."""

import signal
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from jobs.models import Run, Worker
from tests.processes.support import PATIENCE, free_port, no_problem, wait_for_answer
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

pytest.importorskip("uvicorn")

BIN = Path(sys.executable).parent


def uvicorn(site, *options, as_module=False, **environment):
    program = ["-m", "uvicorn"] if as_module else [str(BIN / "uvicorn")]
    port = free_port()
    server = site.start(*program, "--port", str(port), *options, "config.asgi:application", **environment)
    number = int(dict(pairwise(options)).get("--workers", 1)) * (environment.get("JOBS_AUTOSTART") != "off")
    wait_until(lambda: Worker.objects.filter(state="alive", kind="web").count() == number, PATIENCE)
    wait_for_answer(port)
    return server


def gunicorn(site, *options, worker_class="uvicorn_worker.UvicornWorker", **environment):
    pytest.importorskip({"asgi": "gunicorn.workers.gasgi"}.get(worker_class, "uvicorn_worker"))
    address = f"unix:{site.folder / 'socket'}"
    options = ("--worker-class", worker_class, "--graceful-timeout", "25", *options)
    return site.start("-m", "gunicorn", "--bind", address, *options, "config.asgi", **environment)


# How to start it, how many workers it has, and its exit code at SIGTERM.
SERVERS = {
    "uvicorn": (uvicorn, 1, -signal.SIGTERM),
    "python -m uvicorn": (lambda site, **environment: uvicorn(site, as_module=True, **environment), 1, -signal.SIGTERM),
    "uvicorn --workers 2": (lambda site, **environment: uvicorn(site, "--workers", "2", **environment), 2, 0),
    "gunicorn, uvicorn's worker": (gunicorn, 1, 0),
    "gunicorn, its own ASGI worker": (
        lambda site, **environment: gunicorn(site, worker_class="asgi", **environment),
        1,
        0,
    ),
    "gunicorn --preload, uvicorn's worker": (
        lambda site, **environment: gunicorn(site, "--preload", "--workers", "2", **environment),
        2,
        0,
    ),
}
servers = pytest.mark.parametrize(("start", "workers", "code"), SERVERS.values(), ids=SERVERS)


def wait_for_workers(number: int) -> None:
    wait_until(lambda: Worker.objects.filter(state="alive", kind="web").count() == number, PATIENCE)


@servers
def test_it_works_before_the_first_request_and_ends_in_order(site, start, workers, code):
    """A function that runs may finish, and from the signal on none starts."""
    server = start(site)
    wait_for_workers(workers)
    holding = runtime_hold.enqueue_many([{}] * 2)
    site.wait_until_begun(*holding)
    server.send(signal.SIGTERM)
    wait_until(lambda: Worker.objects.filter(state="stopping").count() >= 1, PATIENCE)
    wait_until(lambda: not Worker.objects.filter(state="alive").exists(), PATIENCE)
    late = runtime_mark.enqueue()
    site.open_gate()
    assert server.wait() == code
    assert states([*holding, late]) == ["succeeded", "succeeded", "queued"]
    assert site.executions() == {run.pk: 1 for run in holding}
    assert set(Worker.objects.values_list("kind", "state")) == {("web", "stopped")}
    assert Worker.objects.count() == workers
    assert no_problem(server)


@servers
def test_beyond_the_grace_it_hands_back(site, start, workers, code):
    server = start(site, JOBS_GRACE_SECONDS="0.5")
    wait_for_workers(workers)
    holding = runtime_hold.enqueue_many([{}] * 3)
    site.wait_until_begun(*holding)
    assert server.ends_by(signal.SIGTERM, within=15) == code
    assert set(states(holding)) == {"queued"}
    assert set(Run.objects.values_list("interruptions", flat=True)) == {1}
    assert site.executions("ended") == {}
    assert no_problem(server)


def test_ctrl_c_ends_it_in_order_too(site):
    server = uvicorn(site)
    run = runtime_hold.enqueue()
    site.wait_until_begun(run)
    server.send(signal.SIGINT)
    wait_until(lambda: Worker.objects.filter(state="stopping").exists(), PATIENCE)
    site.open_gate()
    assert server.wait() in (0, -signal.SIGINT)
    assert states([run]) == ["succeeded"]
    assert no_problem(server)


def test_with_autostart_off_it_starts_nothing(site):
    server = uvicorn(site, JOBS_AUTOSTART="off")
    server.ends_by(signal.SIGTERM, within=15)
    assert not Worker.objects.exists()
    assert no_problem(server)


def test_the_parent_that_reloads_has_none(site):
    server = uvicorn(site, "--reload", "--reload-dir", str(site.folder))
    run = runtime_mark.enqueue().wait(PATIENCE)
    assert run.result != server.pid
    assert Worker.objects.get().pid == run.result
    server.ends_by(signal.SIGTERM, within=15)
    assert Worker.objects.get().state == "stopped"
    assert no_problem(server)
