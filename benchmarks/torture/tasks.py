"""The task function under torture."""

import time

import jobs
from benchmarks.torture import ledger


@jobs.register
def work(milliseconds: int, raises: bool = False, tells: bool = False) -> int:
    """Take a while, perhaps tell of it, perhaps raise. What happens is in the ledger."""
    run = jobs.current_run()
    with ledger.execution(run.id, run.attempt):
        if tells:
            print(f"attempt {run.attempt} has begun")
            run.progress(1, total=2, message="half way")
        time.sleep(milliseconds / 1000)
        if raises:
            raise ValueError("as it was asked to")
        return run.attempt
