"""The proof of order: from recorded moments to the starts that came out of turn. Pure; all times in nanoseconds.

One sweep over the moments in their order keeps the set of waiting runs. At each start it looks at all of them, so the
work grows with starts times waiting runs, not with all pairs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# The kinds of moments, in the order in which they count when two have the same time.
STARTED, TAKEN_AWAY, WAITS = range(3)


@dataclass(frozen=True, slots=True)
class Enqueued:
    """One accepted run: its `enqueue()` was called at `began`, and had returned, committed, at `returned`."""

    number: int
    priority: int
    began: int
    returned: int

    def comes_before(self, other: "Enqueued") -> bool:
        """Whether it must start first if both wait: more urgent, or equal and surely enqueued earlier."""
        if self.priority != other.priority:
            return self.priority < other.priority
        return self.returned < other.began


@dataclass(frozen=True, slots=True)
class Absence:
    """A run that nobody could start: its worker died at `since` and others gave it back at `until`."""

    number: int
    since: int
    until: int


@dataclass(slots=True)
class Verdict:
    """What a sweep found. Lateness: for how long a run had waited that a start should have left the turn to."""

    starts: int = 0
    most_waiting: int = 0
    by_priority: list[int] = field(default_factory=list)  # lateness of each start that passed a more urgent run
    in_priority: list[int] = field(default_factory=list)  # the same for one that was enqueued earlier


def moments(
    enqueued: Iterable[Enqueued], starts: Iterable[tuple[int, int]], absences: Iterable[Absence] = ()
) -> list[tuple[int, int, int]]:
    """(time, kind, number) of everything that changes who waits, in order of time."""
    found = [(run.returned, WAITS, run.number) for run in enqueued]
    found += [(at, STARTED, number) for number, at in starts]
    for absence in absences:
        found += [(absence.since, TAKEN_AWAY, absence.number), (absence.until, WAITS, absence.number)]
    return sorted(found)


def sweep(enqueued: Sequence[Enqueued], starts: Sequence[tuple[int, int]], absences: Sequence[Absence] = ()) -> Verdict:
    """Judge every start. `starts` are (number, time).

    A run waits from the return of its enqueue (or its return from a dead worker) until its function starts: one that is
    claimed and has not started waits.
    """
    by_number = {run.number: run for run in enqueued}
    started_early = set()  # it began before its enqueue had returned: it never waits
    waiting: dict[int, int] = {}
    verdict = Verdict()
    for at, kind, number in moments(enqueued, starts, absences):
        if kind == WAITS:
            if number in started_early:
                started_early.discard(number)
            else:
                waiting[number] = at
            continue
        if waiting.pop(number, None) is None and kind == STARTED and by_number[number].returned >= at:
            started_early.add(number)
        if kind == STARTED:
            verdict.starts += 1
            _judge(verdict, by_number[number], at, waiting, by_number)
        verdict.most_waiting = max(verdict.most_waiting, len(waiting))
    return verdict


def _judge(verdict: Verdict, run: Enqueued, at: int, waiting: dict[int, int], by_number: dict[int, Enqueued]) -> None:
    """Note the longest waiting run of each kind that this start has passed."""
    passed = [(since, by_number[number]) for number, since in waiting.items() if by_number[number].comes_before(run)]
    urgent = [since for since, other in passed if other.priority < run.priority]
    # Two equal ones have a strict order only if the earlier was there before the later came.
    earlier = [since for since, other in passed if other.priority == run.priority and since < run.began]
    if urgent:
        verdict.by_priority.append(at - min(urgent))
    if earlier:
        verdict.in_priority.append(at - min(earlier))
