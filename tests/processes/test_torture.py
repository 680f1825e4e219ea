"""Nothing lost, nothing finished twice, under random kills: a short form of `python -m benchmarks.torture`."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from django.db import DatabaseError, connection

from benchmarks.servers import KINDS
from benchmarks.torture import ledger
from benchmarks.torture.check import (
    ASKED,
    CANCELLED,
    FAILED,
    FINISHED,
    INTERRUPTED,
    LOST,
    REQUESTED,
    SNOOZED,
    PastAttempt,
    PastRun,
    check,
)
from benchmarks.torture.ledger import RAISED, RETURNED, Answer, Execution
from benchmarks.torture.producer import is_no_answer
from tests.processes.support import ROOT

DATABASES = {"sqlite": "sqlite", "postgresql": "postgresql", "mysql": "mariadb"}
PATIENCE = 400  # seconds; only a failing test waits that long


def test_the_promises_hold_while_processes_and_databases_are_killed(tmp_path):
    database = DATABASES[connection.vendor]
    if database in KINDS and not KINDS[database].is_installed():
        pytest.skip(f"{database} is not installed here, and a server that others use cannot be killed")
    how = [
        "--minutes=0.33",
        "--kills-per-minute=60",
        "--workers=3",
        "--producers=2",
        "--seed=1",
        f"--folder={tmp_path / 'torture'}",
    ]
    code, output = torture(f"--db={database}", *how)
    assert code == 0, output
    for what in ("runs accepted", "executions", "kills (kill -9)"):
        (count,) = re.findall(rf"^{re.escape(what)} +(\d+)$", output, re.MULTILINE)
        assert int(count) > 0, output


def torture(*arguments: str) -> tuple[int, str]:
    """Its exit code and what it printed. It never ends without the processes that it has started."""
    command = [sys.executable, "-m", "benchmarks.torture", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.terminate()  # nothing, if it has ended; else it kills its processes and then ends
    return process.returncode, output


def test_the_ledger_pairs_begins_and_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "_file", lambda name: os.open(tmp_path / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
    with ledger.execution(1, 1), ledger.execution(2, 1), pytest.raises(ValueError), ledger.execution(1, 2):  # noqa: PT011
        raise ValueError
    with ledger.execution(1, 3), ledger.execution(1, 3):  # the same one twice at once
        pass
    ledger._write_moment(ledger.BEGUN, 2, 2)
    found = ledger.executions(tmp_path)
    assert [(each.run, each.attempt, each.how) for each in found] == [
        (1, 1, RETURNED),
        (2, 1, RETURNED),
        (1, 2, RAISED),
        (1, 3, RETURNED),
        (1, 3, RETURNED),
        (2, 2, None),
    ]
    assert all(each.begun_at <= each.ended_at for each in found[:-1])
    ledger.accept([3, 4])
    ledger.accept([])
    assert ledger.accepted(tmp_path) == {3, 4}
    ledger.answer(3, ASKED)
    ledger.answer(3, REQUESTED)
    assert [(each.run, each.told) for each in ledger.answers(tmp_path)] == [(3, ASKED), (3, REQUESTED)]


def test_a_table_that_is_missing_is_an_answer(transactional_db):
    """Only an error of a connection or a lock leaves open what was stored."""
    with pytest.raises(DatabaseError) as told, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM nowhere")
    assert not is_no_answer(told.value)


# The checker, on a history and a ledger that were made up.


def succeeded(run=1, *, count=0, result=None, **columns) -> PastRun:
    return PastRun(run, "succeeded", count=count, result=result or count + 1, **columns)


def execution(run=1, attempt=1, begun_at=10, ended_at=20, how=RETURNED, pid=7) -> Execution:
    return Execution(run, attempt, pid, begun_at, ended_at, how)


def cut_off(run=1, attempt=1, begun_at=10) -> Execution:
    return execution(run, attempt, begun_at, None, None)


def lost(number=1, ended_at=100) -> PastAttempt:
    return PastAttempt(number, LOST, ended_at)


def failed(*outcomes, state="failed", **columns) -> PastRun:
    """A run with attempts that ended like this, one after the other."""
    attempts = [PastAttempt(number, outcome, 20 * number) for number, outcome in enumerate(outcomes, start=1)]
    return PastRun(1, state, count=len(outcomes), attempts=tuple(attempts), **columns)


def raised(*numbers) -> list[Execution]:
    return [execution(1, number, 20 * number - 10, 20 * number, RAISED) for number in numbers]


def answer(told, at=15) -> Answer:
    return Answer(1, told, at)


def kinds(history, executions, accepted=None, answers=()) -> list[str]:
    accepted = [run.id for run in history] if accepted is None else accepted
    return [offence.kind for offence in check(accepted, executions, {run.id: run for run in history}, answers)]


LOST_ONCE = succeeded(count=1, attempts=(lost(),))
FAILED_ONCE = failed(FAILED)
INTERRUPTED_ONCE = PastRun(1, "failed", max_interruptions=1, count=1, attempts=(PastAttempt(1, INTERRUPTED, 20),))
NEVER_AGAIN = PastRun(1, "failed", on_lost="fail", count=1, attempts=(lost(),))

RIGHT = {
    "an execution that returned": ([succeeded()], [execution()]),
    "one that raised": ([FAILED_ONCE], [execution(how=RAISED)]),
    "killed, then executed again": ([LOST_ONCE], [cut_off(), execution(attempt=2, begun_at=150, ended_at=160)]),
    "killed after its end, before that was stored": ([LOST_ONCE], [execution(), execution(attempt=2, begun_at=150)]),
    "killed between claim and start": ([LOST_ONCE], [execution(attempt=2)]),
    "never to be repeated, and killed": ([NEVER_AGAIN], [cut_off()]),
    "never to be repeated, and killed before its start": ([NEVER_AGAIN], []),
    "lost as often as it may be": ([replace(LOST_ONCE, state="failed", max_losses=1)], [cut_off()]),
    "interrupted as often as it may be": ([INTERRUPTED_ONCE], [cut_off()]),
    "failed as often as it may": ([failed(FAILED, FAILED, max_attempts=2)], raised(1, 2)),
    "failed, then succeeded": (
        [replace(failed(FAILED, max_attempts=2), state="succeeded", result=2)],
        [*raised(1), execution(attempt=2, begun_at=50)],
    ),
    "snoozed, then failed": ([failed(SNOOZED, FAILED)], raised(1, 2)),
    "never to be repeated after a loss, and snoozed": ([failed(SNOOZED, FAILED, on_lost="fail")], raised(1, 2)),
    "gave up before its last attempt": ([failed(FAILED, max_attempts=3, reason="gave_up")], raised(1)),
    "asked to end, and raised": ([failed(FAILED, max_attempts=3, reason="not_repeated")], raised(1)),
    "cut short while it wrote down its end": ([failed(FAILED, is_interruptible=True)], [cut_off()]),
}


@pytest.mark.parametrize(("history", "executions"), RIGHT.values(), ids=RIGHT)
def test_what_the_history_explains_is_no_offence(history, executions):
    assert kinds(history, executions) == []


def test_a_run_whose_enqueue_got_no_answer_may_exist_or_not():
    assert kinds([succeeded()], [execution()], accepted=[]) == []
    assert kinds([], [], accepted=[]) == []


WRONG = {
    "twice": ([succeeded()], [execution(), execution(begun_at=30, pid=8)], ["unexplained"]),
    "twice under one number beside a loss that explains one": (
        [LOST_ONCE],
        [execution(attempt=2), execution(attempt=2, begun_at=30)],
        ["unexplained"],
    ),
    "more often than its losses": ([succeeded()], [cut_off(), execution(attempt=2)], ["unexplained", "contradicted"]),
    "again after it had failed": (
        [FAILED_ONCE],
        [execution(how=RAISED), execution(attempt=2, begun_at=30)],
        ["unexplained"],
    ),
    "a counter was raised without an attempt": (
        [succeeded(count=1)],
        [cut_off(), execution(attempt=2)],
        ["unexplained", "contradicted"],
    ),
    "a failure was counted twice": (
        [PastRun(1, "failed", max_attempts=2, count=2, attempts=(PastAttempt(1, FAILED, 20),) * 2)],
        [execution(how=RAISED)],
        ["contradicted"],
    ),
    "a success that another execution has written": (
        [replace(LOST_ONCE, result=1)],
        [execution(), execution(attempt=2, begun_at=150)],
        ["contradicted"],
    ),
    "without a row": ([], [execution()], ["unexplained"]),
    "repeated although it must not": (
        [succeeded(on_lost="fail", count=1, attempts=(lost(),))],
        [cut_off(), execution(attempt=2, begun_at=150)],
        ["repeated"],
    ),
    "succeeded without an execution": ([succeeded()], [], ["contradicted"]),
    "succeeded by an execution that did not end": ([succeeded()], [cut_off()], ["contradicted"]),
    "succeeded although it raised": ([succeeded()], [execution(how=RAISED)], ["contradicted"]),
    "failed although it returned": ([FAILED_ONCE], [execution()], ["contradicted"]),
    "failed without any attempt": ([PastRun(1, "failed")], [], ["contradicted"]),
    "failed, and was lost less often than it may be": (
        [replace(LOST_ONCE, state="failed")],
        [cut_off()],
        ["contradicted"],
    ),
    "failed, and was interrupted less often than it may be": (
        [replace(INTERRUPTED_ONCE, max_interruptions=2)],
        [cut_off()],
        ["contradicted"],
    ),
    "cancelled, which nobody asked for": ([PastRun(1, "cancelled")], [], ["answer"]),
    "failed before its last attempt": ([failed(FAILED, max_attempts=2)], raised(1), ["contradicted"]),
    "failed more often than it may": ([failed(FAILED, FAILED)], raised(1, 2), ["contradicted"]),
    "snoozed without raising": ([failed(SNOOZED, FAILED)], [execution(), *raised(2)], ["contradicted"]),
    "queued in the end": ([PastRun(1, "queued")], [], ["stuck"]),
    "running in the end": ([PastRun(1, "running")], [cut_off()], ["stuck"]),
}


@pytest.mark.parametrize(("history", "executions", "offences"), WRONG.values(), ids=WRONG)
def test_what_the_history_does_not_explain_is_an_offence(history, executions, offences):
    assert kinds(history, executions) == offences


CANCELLED_UNSTARTED = PastRun(1, "cancelled")
CANCELLED_AT_WORK = replace(failed(CANCELLED, state="cancelled"), count=0)
ANSWERS = {
    "cancelled before it started": (CANCELLED_UNSTARTED, [], CANCELLED, []),
    "cancelled, and executed afterwards": (CANCELLED_UNSTARTED, [execution(begun_at=16)], CANCELLED,
                                           ["unexplained", "answer"]),
    "cancelled, and it failed": (FAILED_ONCE, raised(1), CANCELLED, ["answer"]),
    "requested, and its function ended": (CANCELLED_AT_WORK, raised(1), REQUESTED, []),
    "requested, and it returned": (succeeded(), [execution()], REQUESTED, []),
    "requested, and only then it started": (succeeded(), [execution(begun_at=16)], REQUESTED, []),
    "requested, and tried again": (
        failed(FAILED, FAILED, FAILED, max_attempts=3),
        raised(1, 2, 3),
        REQUESTED,
        ["answer"],
    ),
    "finished": (succeeded(), [execution(ended_at=14)], FINISHED, []),
    "finished, and executed afterwards": (succeeded(), [execution(begun_at=16)], FINISHED, ["answer"]),
    "without an answer": (CANCELLED_UNSTARTED, [], ASKED, []),
}  # fmt: skip


@pytest.mark.parametrize(("run", "executions", "told", "offences"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_to_a_cancel_is_held_against_what_then_happens(run, executions, told, offences):
    assert kinds([run], executions, answers=[answer(ASKED), answer(told)]) == offences


def test_an_accepted_run_without_a_row_is_lost():
    assert kinds([], [], accepted=[1]) == ["lost"]


def test_runs_of_one_unique_key_must_not_overlap():
    first, second = succeeded(1, unique_key="k"), succeeded(2, unique_key="k")
    after = [execution(1), execution(2, begun_at=20, ended_at=30)]
    beside = [execution(1), execution(2, begun_at=19, ended_at=30)]
    assert kinds([first, second], after) == []
    assert kinds([first, second], beside) == ["overlapping"]
    assert kinds([first, replace(second, unique_key="other")], beside) == []
    assert kinds([first, second], [*beside, execution(3)], accepted=[]) == ["unexplained", "overlapping"]


def test_an_execution_that_was_taken_from_its_worker_holds_its_key_until_then():
    """Its function may go on in a worker that has thawed: that one's work does not count any more."""
    taken = replace(NEVER_AGAIN, unique_key="k")
    next_one = succeeded(2, unique_key="k")
    ghost = execution(begun_at=10, ended_at=300)
    assert kinds([taken, next_one], [ghost, execution(2, begun_at=101, ended_at=110)]) == []
    assert kinds([taken, next_one], [ghost, execution(2, begun_at=99, ended_at=110)]) == ["overlapping"]
    late = execution(begun_at=105, ended_at=300)  # frozen between the last look at its claim and its first line
    assert kinds([taken, next_one], [execution(2, begun_at=101, ended_at=110), late]) == []
