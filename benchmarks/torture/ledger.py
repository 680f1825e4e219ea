"""What happened, as those who did it wrote it down: outside of the database, by lines that are only ever appended.

The folder of a torture has three such files, which all its processes share: `ledger`, a line when a function begins and
one when it ends, `accepted`, a line for each call of an enqueue that came back, and `answers`, a line before each
cancel and one with what was answered. A line is one write, so a process that is killed leaves it whole or not at all.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

BEGUN, RETURNED, RAISED = "begun", "returned", "raised"


@dataclass(frozen=True)
class Execution:
    """A function was called. `ended_at` is None if its process did not live to see that; times are of the wall clock,
    in nanoseconds."""

    run: int
    attempt: int
    pid: int
    begun_at: int
    ended_at: int | None = None
    how: str | None = None


@dataclass(frozen=True)
class Answer:
    """What was answered, at which time, to who asked a run to end. It is preceded by one that says that he asks: the
    answer itself may get lost."""

    run: int
    told: str
    at: int


@contextmanager
def execution(run: int, attempt: int) -> Iterator[None]:
    """Write down that a function works in this block, and how it ends."""
    _write_moment(BEGUN, run, attempt)
    try:
        yield
    except BaseException:
        _write_moment(RAISED, run, attempt)
        raise
    _write_moment(RETURNED, run, attempt)


def accept(runs: Iterable[int]) -> None:
    """Write down that the enqueue of these runs came back: from here on they must not get lost."""
    _write("accepted", " ".join(map(str, runs)))


def answer(run: int, told: str) -> None:
    """Write down what was answered to who asked a run to end."""
    _write("answers", f"{run} {told} {time.time_ns()}")


def answers(folder: Path) -> list[Answer]:
    """All answers, in their order."""
    lines = [line.split() for line in _lines(folder / "answers")]
    return [Answer(int(run), told, int(at)) for run, told, at in lines]


def executions(folder: Path) -> list[Execution]:
    """All executions, in the order in which they began."""
    found: list[Execution] = []
    open_ones = defaultdict(list)  # where those stand whose end is not known, of an attempt in a process
    for line in _lines(folder / "ledger"):
        word, *numbers = line.split()
        run, attempt, pid, at = map(int, numbers)
        who = run, attempt, pid
        if word == BEGUN:
            open_ones[who].append(len(found))
            found.append(Execution(*who, begun_at=at))
        else:
            place = open_ones[who].pop(0)
            found[place] = replace(found[place], ended_at=at, how=word)
    return found


def accepted(folder: Path) -> set[int]:
    return {int(run) for line in _lines(folder / "accepted") for run in line.split()}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _write_moment(word: str, run: int, attempt: int) -> None:
    _write("ledger", f"{word} {run} {attempt} {os.getpid()} {time.time_ns()}")


def _write(name: str, line: str) -> None:
    os.write(_file(name), f"{line}\n".encode())


@cache
def _file(name: str) -> int:
    return os.open(Path(os.environ["TORTURE_FOLDER"]) / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
