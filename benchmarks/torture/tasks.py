"""The task functions under torture."""

import asyncio
import os
import signal
import time
from datetime import timedelta
from typing import Literal

import jobs
from benchmarks.torture import ledger

STEP_SECONDS = 0.01
PAUSE = timedelta(seconds=0.2)

End = Literal["returns", "raises", "raises at first", "snoozes", "gives up"]
EndApart = Literal["returns", "raises", "raises at first", "snoozes", "gives up", "dies", "dies at first"]


@jobs.register
def work(milliseconds: int, ends: End = "returns", tells: bool = False, listens: bool = False) -> int:
    """Take a while, perhaps tell of it, perhaps listen to who asks it to end. What happens is in the ledger."""
    run = jobs.current_run()
    with ledger.execution(run.id, run.attempt):
        if tells:
            print(f"attempt {run.attempt} has begun")
            run.progress(1, total=2, message="half way")
        for _ in range(milliseconds // 10):
            time.sleep(STEP_SECONDS)
            if listens:
                run.raise_if_cancelled()
        return _end(ends, run.attempt)


@jobs.register(interrupt=True)
def endless(milliseconds: int, ends: End = "returns") -> int:
    """Take a while and listen to nobody: it has to be made to end."""
    run = jobs.current_run()
    with ledger.execution(run.id, run.attempt):
        for _ in range(milliseconds // 10):
            time.sleep(STEP_SECONDS)
        return _end(ends, run.attempt)


@jobs.register
async def wait_for(milliseconds: int, ends: End = "returns") -> int:
    """The same on the event loop."""
    run = jobs.current_run()
    with ledger.execution(run.id, run.attempt):
        await asyncio.sleep(milliseconds / 1000)
        return _end(ends, run.attempt)


@jobs.register(executor="processes")
def apart(milliseconds: int, ends: EndApart = "returns") -> int:
    """The same in a process of its own, which may die under it."""
    run = jobs.current_run()
    with ledger.execution(run.id, run.attempt):
        time.sleep(milliseconds / 1000)
        if ends == "dies" or (ends == "dies at first" and run.attempt == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        return _end(ends, run.attempt)


def _end(ends: End, attempt: int) -> int:
    if ends == "raises" or (ends == "raises at first" and attempt == 1):
        raise ValueError("as it was asked to")
    if ends == "gives up":
        raise jobs.GiveUp("as it was asked to")
    if ends == "snoozes" and attempt < 3:
        raise jobs.Snooze(PAUSE)
    return attempt
