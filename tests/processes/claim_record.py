"""What the workers of a test write down while they claim and execute; see `benchmarks.turns`."""

import os
import time
from pathlib import Path
from threading import get_ident

import jobs
from benchmarks import turns

CLAIMS, EXECUTIONS = "RECORD_CLAIMS", "RECORD_EXECUTIONS"  # the environment variables that name the files

if CLAIMS in os.environ:
    turns.install(Path(os.environ[CLAIMS]))


@jobs.register(name="tests.recorded_work")
def recorded_work(milliseconds: int):
    file = os.open(os.environ[EXECUTIONS], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{jobs.current_run().id} {os.getpid()} {get_ident()}\n".encode())
    os.close(file)
    time.sleep(milliseconds / 1000)


def executions(path: Path) -> list[list[int]]:
    """Run, process and thread of each execution."""
    return [[int(word) for word in line.split()] for line in path.read_text().splitlines()]
