"""Task functions to be watched in a browser. They go on when a test says so: see `Server.let_go`."""

import logging
import os
import time
from datetime import date

import jobs

logger = logging.getLogger(__name__)


@jobs.register(label="Count sheep", priority=20)
def count_sheep(how_many: int, color: str = "white", since: date | None = None, api_token: str = "") -> str:
    """Count sheep, each when it is let go.

    Args:
        how_many: Until you sleep.
        color: Of their wool.
    """
    run = jobs.current_run()
    for number in range(1, how_many + 1):
        logger.warning("%s sheep %s", color, number)
        run.progress(number, total=how_many, message="sheep")
        _wait_to_be_let_go(run.id, number)
    return f"{how_many} {color} sheep"


@jobs.register(label="Fall ill")
def fall_ill() -> None:
    """Fail at once."""
    raise ValueError("The sheep are ill")


@jobs.register(label="Nothing to do")
def nothing_to_do() -> None: ...


def _wait_to_be_let_go(run: int, step: int) -> None:
    gates = [os.environ["RUNTIME_MARKS"] + name for name in (".all", f".{run}", f".{run}.{step}")]
    deadline = time.monotonic() + 120
    while not any(map(os.path.exists, gates)) and time.monotonic() < deadline:
        jobs.current_run().raise_if_cancelled()
        time.sleep(0.01)
