"""Endless output, giant results, giant errors: the right end, a log within its bounds, a worker that stays small.

What a function itself holds is its own; the console of the processes is off, because it costs what it costs.
"""

from pathlib import Path

import pytest

from jobs.models import Attempt, RunLog
from tests.processes import tasks
from tests.processes.support import PATIENCE, no_problem

MAX_LOG_BYTES = 131_072
MEGABYTE = 1_000_000
GROWTH = 50 * MEGABYTE

needs_proc = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is looked up in /proc")


@pytest.fixture
def worker(site):
    process = site.runscheduler("--threads", "1", RUNTIME_QUIET="yes")
    tasks.return_much.enqueue(1).wait(PATIENCE)  # all that is imported at the first run is there
    yield process
    assert no_problem(process)


def status(process, name: str) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (value,) = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(value) * 1024


def growth(process, run_it):
    """What `run_it` has returned, and by how many bytes the process was larger meanwhile, at its peak."""
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")
    before = status(process, "VmRSS")
    run = run_it().wait(PATIENCE)
    return run, status(process, "VmHWM") - before


def log_of(run) -> str:
    return "".join(RunLog.objects.filter(run=run).order_by("pk").values_list("text", flat=True))


def is_within_its_bounds(log: str) -> bool:
    return MAX_LOG_BYTES // 2 < len(log.encode()) <= MAX_LOG_BYTES + 40


@needs_proc
def test_a_million_lines_and_a_giant_error(worker):
    message = 20 * MEGABYTE
    run, grown = growth(worker, lambda: tasks.flood.enqueue(1_000_000, 200, message))
    log = log_of(run)
    assert (run.state, run.reason_code) == ("failed", "function_raised")
    assert is_within_its_bounds(log)
    assert log.startswith("line 0 x")
    assert log.splitlines()[-1].startswith("line 999999 x")
    dropped = 1_000_000 * 201 - sum(len(line) + 1 for line in log.splitlines() if line.startswith("line "))
    assert f"… {dropped} bytes dropped …" in log
    attempt = Attempt.objects.get(run=run)
    assert attempt.message.endswith(" the end")
    assert attempt.traceback.endswith(" the end\n")
    assert attempt.traceback.count("direct cause") == 5
    assert grown < message + GROWTH


@needs_proc
@pytest.mark.parametrize("give", [tasks.return_much, tasks.return_many], ids=lambda task: task.name.split(".")[-1])
def test_a_giant_result(worker, give):
    size = 50 * MEGABYTE
    run, grown = growth(worker, lambda: give.enqueue(size if give is tasks.return_much else 50_000))
    assert (run.state, run.reason_code, run.result) == ("succeeded", "result_not_stored", None)
    assert "MAX_RESULT_BYTES (65536 bytes)" in run.reason
    assert grown < GROWTH + (size if give is tasks.return_much else 0)


@needs_proc
@pytest.mark.parametrize("write", [tasks.log_one_line, tasks.print_one_line], ids=["log", "print"])
def test_one_giant_line(worker, write):
    size = 100 * MEGABYTE
    run, grown = growth(worker, lambda: write.enqueue(size))
    log = log_of(run)
    assert run.state == "succeeded"
    assert is_within_its_bounds(log)
    assert "beginxxx" in log.split("…")[0]
    assert log.endswith("xxxend\n")
    assert grown < GROWTH + size * (2 if write is tasks.log_one_line else 1)  # it is made of three parts
