"""Whether claims of several processes are in turn, judged without any tolerance.

Between two processes the hand-out of a run says little: of two runs that were claimed in order, the one whose process
is slower starts later. What must be in order are the claims. All times are nanoseconds of the monotonic clock, which is
one for all processes of a machine.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ready:
    """An accepted run; committed, and to be seen by everybody, at `returned`."""

    id: int
    order_key: int
    returned: int

    @property
    def place(self) -> tuple[int, int]:
        return self.order_key, self.id


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim of one run, by a call that began to read at `began` and returned, before its commit, at `ended`. One that
    was rolled back has the `claim_no` of the next one of its run."""

    id: int
    began: int
    ended: int
    claim_no: int = 1


def install(path: Path) -> None:
    """From now on write to this file, which several processes may share, what this process claims."""
    from jobs.lifecycle import claim as claims

    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    claim = claims.claim

    def noted_claim(*args, **kwargs):
        began = time.monotonic_ns()
        taken = claim(*args, **kwargs)
        ended = time.monotonic_ns()
        if taken:
            os.write(file, "".join(f"{run.id} {began} {ended} {run.claim_no}\n" for run in taken).encode())
        return taken

    claims.claim = noted_claim


def claimed(path: Path) -> list[Claimed]:
    return [Claimed(*map(int, line.split())) for line in path.read_text().splitlines()]


def out_of_turn(ready: Sequence[Ready], claims: Sequence[Claimed]) -> list[tuple[Ready, Ready]]:
    """(taken, passed over): claims that took a run while a more urgent one was there and free for the whole time: its
    enqueue had returned before the claim began to read, and nobody's claim of it had begun when this one ended. (A
    claim that is given back unstarted leaves the run out of this question from then on; one that was rolled back does
    so too, and has taken nothing.)"""
    by_id = {run.id: run for run in ready}
    free_until: dict[int, int] = {}
    for claim in claims:
        free_until[claim.id] = min(claim.began, free_until.get(claim.id, claim.began))
    committed = {(claim.id, claim.claim_no): claim for claim in claims}.values()
    return [
        (run, other)
        for claim, run in ((claim, by_id[claim.id]) for claim in committed)
        for other in ready
        if other.place < run.place and other.returned < claim.began and free_until[other.id] > claim.ended
    ]
