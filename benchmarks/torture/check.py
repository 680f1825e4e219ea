"""What was promised, held against what happened. Pure: reads neither files nor a database."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.torture.ledger import RAISED, RETURNED, Answer, Execution

SUCCEEDED, RUNNING = "succeeded", "running"
LOST, INTERRUPTED, SNOOZED = "lost", "interrupted", "snoozed"  # outcomes of attempts
FAILED, CANCELLED = "failed", "cancelled"  # outcomes of attempts, and states
FINAL = frozenset({SUCCEEDED, FAILED, CANCELLED})
ASKED, REQUESTED, FINISHED = "asked", "requested", "finished"  # what the ledger says of cancels, beside CANCELLED

# The kinds of offences, with what each means.
PROMISES = {
    "lost": "accepted, but not in the database",
    "stuck": "neither succeeded, failed nor cancelled at the end",
    "unexplained": "executions that the history does not explain",
    "repeated": 'executions of on_lost="fail" runs beyond one and those that they asked for',
    "answer": "a cancel was answered with what then did not happen, or nobody had asked for it",
    "contradicted": "the history contradicts itself or the ledger",
    "overlapping": "runs of one unique key that ran at once",
}


@dataclass(frozen=True)
class PastAttempt:
    """A row of the history: an execution that did not succeed. `ended_at` in nanoseconds of the wall clock."""

    number: int
    outcome: str
    ended_at: int


@dataclass(frozen=True)
class PastRun:
    """What the database says in the end about a run. `count` is the sum of its four counters; `result` is what its
    function returned: the number of the execution."""

    id: int
    state: str
    on_lost: str = "requeue"
    unique_key: str = ""
    max_attempts: int = 1
    max_losses: int = 3
    max_interruptions: int = 5
    count: int = 0
    reason: str = ""
    is_interruptible: bool = False  # so that even writing into the ledger may have been cut short
    result: int | None = None
    attempts: tuple[PastAttempt, ...] = ()

    @property
    def explained(self) -> set[int]:
        """The numbers of the executions that may have been."""
        last = {self.count + 1} if self.state in (SUCCEEDED, RUNNING) or self.was_cancelled_at_work else set()
        return last | {attempt.number for attempt in self.attempts if attempt.number <= self.count}

    @property
    def was_cancelled_at_work(self) -> bool:
        """Whether its function ended it, as it was asked to: no counter tells of that execution."""
        return self.state == CANCELLED and any(attempt.outcome == CANCELLED for attempt in self.attempts)

    @property
    def may_have_failed(self) -> bool:
        """Whether an attempt says why: by an error, or as the last loss or interruption that it may have."""
        outcomes = Counter(attempt.outcome for attempt in self.attempts)
        losses, interruptions = (1, 1) if self.on_lost == "fail" else (self.max_losses, self.max_interruptions)
        gave_up = outcomes[FAILED] > 0 and self.reason in ("gave_up", "not_repeated")
        has_failed = gave_up or outcomes[FAILED] >= self.max_attempts
        return has_failed or outcomes[LOST] >= losses or outcomes[INTERRUPTED] >= interruptions


@dataclass(frozen=True)
class Offence:
    """A promise that was broken, by its kind, and the run that it was broken for."""

    kind: str
    run: int
    what: str


def check(
    accepted: Collection[int],
    executions: Sequence[Execution],
    history: Mapping[int, PastRun],
    answers: Sequence[Answer] = (),
) -> list[Offence]:
    """All broken promises. `executions` are in the order in which they began."""
    by_run = defaultdict(list)
    for execution in executions:
        by_run[execution.run].append(execution)
    found = [Offence("lost", run, "it has no row") for run in sorted(set(accepted) - set(history))]
    for run in sorted(by_run.keys() - history.keys()):
        found += [Offence("unexplained", run, "executed without a row") for _ in by_run[run]]
    for run in history.values():
        found += _of_run(run, by_run[run.id])
    asked = {answer.run for answer in answers}
    for run in history.values():
        if run.state == CANCELLED and run.id not in asked:
            found.append(Offence("answer", run.id, "it was cancelled, which nobody has asked for"))
    for answer in answers:
        if answer.run in history and answer.told != ASKED:
            found += _of_answer(answer, history[answer.run], by_run[answer.run])
    return found + list(_overlaps(by_run, history))


def _of_answer(answer: Answer, run: PastRun, executions: list[Execution]) -> Iterator[Offence]:
    later = sum(execution.begun_at > answer.at for execution in executions)
    most = 1 if answer.told == REQUESTED else 0  # its claim may be older than the answer, and its function younger
    if answer.told == CANCELLED and run.state != CANCELLED:
        yield Offence("answer", run.id, f"it was cancelled, and is {run.state}")
    if later > most:
        yield Offence("answer", run.id, f"{later} executions began after the answer {answer.told!r}")


def _of_run(run: PastRun, executions: list[Execution]) -> Iterator[Offence]:
    if run.state not in FINAL:
        yield Offence("stuck", run.id, f"it is {run.state}")
    explained = run.explained
    for execution in executions:
        if execution.attempt not in explained:
            yield Offence("unexplained", run.id, f"attempt {execution.attempt} in process {execution.pid}")
        explained.discard(execution.attempt)  # each number once
    if run.on_lost == "fail":
        for execution in executions[1 + sum(each.outcome in (FAILED, SNOOZED) for each in run.attempts) :]:
            yield Offence("repeated", run.id, f"attempt {execution.attempt} in process {execution.pid}")
    for problem in _contradictions(run, {(execution.attempt, execution.how) for execution in executions}):
        yield Offence("contradicted", run.id, problem)


def _contradictions(run: PastRun, ends: set[tuple[int, str | None]]) -> Iterator[str]:
    """Where the history contradicts itself, or how executions ended."""
    numbers = [attempt.number for attempt in run.attempts]
    if sorted(numbers) != list(range(1, run.count + 1 + run.was_cancelled_at_work)):
        yield f"its counters say {run.count}, and its attempts are {numbers}"
    if run.state == SUCCEEDED:
        if (run.count + 1, RETURNED) not in ends:
            yield f"it succeeded, but attempt {run.count + 1} did not return"
        if run.result != run.count + 1:
            yield f"it succeeded with the result of attempt {run.result}"
    if run.state == FAILED and not run.may_have_failed:
        yield "it failed, and no attempt says why"
    if Counter(attempt.outcome for attempt in run.attempts)[FAILED] > run.max_attempts:
        yield f"it failed more often than {run.max_attempts} times"
    for attempt in run.attempts:
        if run.is_interruptible:
            continue
        if attempt.outcome in (FAILED, SNOOZED) and (attempt.number, RAISED) not in ends:
            yield f"attempt {attempt.number} {attempt.outcome}, but it did not raise"


def _overlaps(by_run: Mapping[int, list[Execution]], history: Mapping[int, PastRun]) -> Iterator[Offence]:
    """Executions that began while another run of their key was at work."""
    by_key = defaultdict(list)
    for run in history.values():
        if run.unique_key:
            by_key[run.unique_key] += [(execution.begun_at, run, execution) for execution in by_run[run.id]]
    for key, executions in by_key.items():
        busy = []
        for begun_at, run, execution in sorted(executions, key=lambda each: each[0]):
            others = {other.id for other, until in busy if other.id != run.id and until > begun_at}
            if others and _until(run, execution) > begun_at:
                yield Offence("overlapping", run.id, f"key {key!r}, beside {', '.join(map(str, sorted(others)))}")
            busy.append((run, _until(run, execution)))


def _until(run: PastRun, execution: Execution) -> float:
    """When an execution had ended for the others: by itself, or when it was taken from its worker, whose function may
    have gone on without being told."""
    ends = [float("inf") if execution.ended_at is None else execution.ended_at]
    ends += [
        attempt.ended_at
        for attempt in run.attempts
        if attempt.number == execution.attempt and attempt.outcome in (LOST, INTERRUPTED)
    ]
    return min(ends)
