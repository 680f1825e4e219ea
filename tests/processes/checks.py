"""What must hold after a fault of the database is over, and what processes may have said meanwhile."""

import re

from jobs.models import Run, Worker
from tests.processes.support import PATIENCE, Process
from tests.runtime.support import wait_until

# For workers beside each other, none of which dies. After an absence a look counts for two beats at most: with
# many beats in a silence, the one that comes back last has most of it to give a sign of life, on a busy machine too.
BEAT, SILENCE = 0.25, 3.0
WORKERS = {"JOBS_HEARTBEAT_SECONDS": str(BEAT), "JOBS_LOST_AFTER_SECONDS": str(SILENCE)}
STEP = "next try in"
LISTENER = ("no notifications of the database", "notifications of the database come again")


def beats(process: Process) -> int:
    return Worker.objects.filter(pid=process.pid).latest("pk").beats


def wait_for_beats(processes: list[Process], number: int) -> None:
    before = [beats(each) for each in processes]
    wait_until(lambda: all(beats(each) >= n + number for each, n in zip(processes, before, strict=True)), PATIENCE)


def nobody_was_lost(workers: int) -> bool:
    """Every run has succeeded by its first claim, and the workers are those that were started."""
    assert set(Run.objects.values_list("state", "losses", "claim_no")) == {("succeeded", 0, 1)}
    found = list(Worker.objects.order_by("pk").values_list("name", "state", "started_at", "beat_at"))
    assert [state for _, state, *_ in found] == ["alive"] * workers, found
    return True


def steps(process: Process) -> list[float]:
    """The pauses that it told of, in seconds."""
    return [float(found) for found in re.findall(rf"{STEP} ([\d.]+) s", process.output)]


def wait_for_steps(processes: list[Process], seconds: float) -> None:
    """Wait until each has told of pauses that are so long together."""
    wait_until(lambda: all(sum(steps(each)) > seconds for each in processes), PATIENCE)


def one_line_a_step(process: Process, *others: str) -> bool:
    """It has alarmed nobody but by one line for each try; lines with one of these words do not count."""
    harmless = (" INFO ", STEP, *others)
    assert [line for line in process.output.splitlines() if not any(map(line.__contains__, harmless))] == []
    return True
