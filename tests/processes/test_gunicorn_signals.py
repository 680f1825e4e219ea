"""How gunicorn's processes end: replaced, reloaded, hung, or asked by somebody who does not want to wait."""

import itertools
import os
import signal
import socket
import time
from contextlib import suppress

import pytest

from jobs.models import Run, Worker
from tests.processes.support import PATIENCE, no_problem
from tests.processes.test_gunicorn import two_workers
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

ONE_THREAD = {"JOBS_THREADS": "1"}
# It hangs in a request until the process dies, as code that waits for something for ever.
HANGING_SITE = """
import time
from config.wsgi import application as site

def application(environ, start_response):
    if environ["PATH_INFO"] == "/hang/":
        time.sleep(3600)
    return site(environ, start_response)
"""


def alive():
    return Worker.objects.filter(state="alive")


def request(site, path: str = "/no-such-page/") -> socket.socket:
    """Send a request; the connection, on which an answer may come."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    connection.connect(str(site.folder / "socket"))
    connection.sendall(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return connection


def wait_a_little(seconds: float, *, unless) -> None:
    end = time.monotonic() + seconds
    wait_until(lambda: unless() or time.monotonic() > end)


def both_busy(site, *options, **environment):
    """A gunicorn whose two workers hold one run each, one of which must not be repeated."""
    server = two_workers(site, options, **ONE_THREAD | environment)
    held = [runtime_hold.enqueue(), runtime_hold.using(on_lost="fail").enqueue()]
    site.wait_until_begun(*held)
    return server, held, {run: pid for run, _, pid, _ in site.marks}


def test_a_process_that_is_recycled_lets_its_function_end_and_the_others_work_meanwhile(site):
    server, held, pids = both_busy(site, "--max-requests", "1")
    with request(site) as connection:
        assert connection.recv(100)
    old = wait_until(lambda: Worker.objects.filter(state="stopping").first(), PATIENCE)
    late = runtime_mark.enqueue_many([{}] * 20)
    kept = next(run for run in held if pids[run.pk] != old.pid)
    assert states(held) == ["running"] * 2
    site.open_gate()
    wait_until(lambda: set(states([*held, *late])) == {"succeeded"}, PATIENCE)
    assert site.executions() == {run.pk: 1 for run in [*held, *late]}
    assert Worker.objects.get(pk=Run.objects.get(pk=kept.pk).worker_id).pid == pids[kept.pk]
    assert old.pid not in {run.result for run in Run.objects.filter(pk__in=[run.pk for run in late])}
    wait_until(lambda: alive().count() == 2, PATIENCE)
    assert Worker.objects.get(pk=old.pk).state == "stopped"
    assert server.ends_by(signal.SIGTERM, within=15) == 0
    assert no_problem(server)


def test_one_that_is_recycled_hands_back_beyond_the_grace(site):
    server, held, _ = both_busy(site, "--max-requests", "1", JOBS_GRACE_SECONDS="0.5")
    old = alive().filter(pid__in=set(alive().values_list("pid", flat=True)))
    while left := old.count():  # until both have answered one: each answers no second, but a new one may be quicker
        with request(site) as connection:
            assert connection.recv(100)
        wait_a_little(1.0, unless=lambda left=left: old.count() < left)
    again, never_again = held
    wait_until(lambda: states([never_again]) == ["failed"], PATIENCE)
    wait_until(lambda: site.executions()[again.pk] >= 2, PATIENCE)
    site.open_gate()
    assert again.wait(PATIENCE).state == "succeeded"
    never_again.refresh_from_db()
    assert (never_again.interruptions, never_again.losses, site.executions()[never_again.pk]) == (1, 0, 1)
    assert (again.losses, site.executions()[again.pk]) == (0, again.interruptions + 1)
    assert server.ends_by(signal.SIGTERM, within=15) == 0


def test_a_reload_lets_the_old_ones_end_what_they_have_and_loses_nothing(site):
    server, held, _ = both_busy(site)
    old = set(alive().values_list("pid", flat=True))
    server.send(signal.SIGHUP)
    wait_until(lambda: Worker.objects.filter(pid__in=old, state="stopping").count() == 2, PATIENCE)
    late = runtime_mark.enqueue_many([{}] * 20)
    wait_until(lambda: set(states(late)) == {"succeeded"}, PATIENCE)
    assert states(held) == ["running"] * 2
    site.open_gate()
    wait_until(lambda: set(states(held)) == {"succeeded"}, PATIENCE)
    assert site.executions() == {run.pk: 1 for run in [*held, *late]}
    wait_until(lambda: Worker.objects.filter(pid__in=old, state="stopped").count() == 2, PATIENCE)
    wait_until(lambda: alive().exclude(pid__in=old).count() == 2, PATIENCE)
    assert server.ends_by(signal.SIGTERM, within=15) == 0
    assert no_problem(server)


@pytest.mark.parametrize("which", [0, 1], ids=["requeue", "fail"])
def test_what_a_process_held_that_was_aborted_is_taken_over(site, which):
    """gunicorn aborts a process that hangs, and kills it a second later: no time for a stop in order."""
    (site.folder / "hanging.py").write_text(HANGING_SITE)
    server = site.start(
        *("-m", "gunicorn", "--bind", f"unix:{site.folder / 'socket'}", "--timeout", "10", "hanging"),
        PYTHONPATH=f"{site.folder}:{site.environment['PYTHONPATH']}",
        **ONE_THREAD,
    )
    first = wait_until(lambda: alive().first(), PATIENCE)
    run = runtime_hold.using(on_lost=["requeue", "fail"][which]).enqueue()
    site.wait_until_begun(run)
    waiting = runtime_mark.using(priority=1).enqueue()
    with request(site, "/hang/"):
        wait_until(lambda: "WORKER TIMEOUT" in server.output, PATIENCE)
        wait_until(lambda: alive().exclude(pk=first.pk).exists(), PATIENCE)
    site.open_gate(attempt=2)
    run.wait(PATIENCE)
    assert waiting.wait(PATIENCE).state == "succeeded"
    assert (run.state, run.losses) == (["succeeded", "failed"][which], 1)
    assert site.executions() == {run.pk: 2 - which, waiting.pk: 1}
    assert server.ends_by(signal.SIGTERM, within=15) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT])
def test_a_second_signal_to_a_process_that_stops_hands_back_at_once(site, number):
    """The arbiter's second one, a second Ctrl-C, or the abort of a process that has taken too long to stop."""
    server, held, _ = both_busy(site, JOBS_GRACE_SECONDS="1000")
    server.send(signal.SIGTERM)
    wait_until(lambda: Worker.objects.filter(state="stopping").count() == 2, PATIENCE)

    # One that comes within a second after the first is the same; a person who does not want to wait sends more.
    for attempt in itertools.count():
        if states(held) == ["queued", "failed"]:
            break
        assert attempt < PATIENCE
        for pid in Worker.objects.filter(state="stopping").values_list("pid", flat=True):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        wait_a_little(1.0, unless=lambda: states(held) == ["queued", "failed"])
    assert server.wait() == 0
    assert [run.losses for run in Run.objects.all()] == [0, 0]
    assert [run.interruptions for run in Run.objects.all()] == [1, 1]
    assert site.executions("ended") == {}
    assert set(Worker.objects.values_list("state", flat=True)) == {"stopped"}
