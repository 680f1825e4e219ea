"""Which of the slots that have come are to be run, and which are dropped."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice, takewhile

from jobs.core.recurrence import Recurrence, just_before

# Of slots that are caught up with, and of runs that wait for each other: beyond, slots are dropped.
MOST_AT_ONCE = 100
# A slot that nobody took for so long has been missed; the pauses of a restart or a busy hour are shorter.
MISSED_AFTER = timedelta(seconds=60)


class Misfire(StrEnum):
    """What happens to slots that passed while nobody was there."""

    ONCE = "once"  # one run for all of them, for the last one
    SKIP = "skip"  # none
    ALL = "all"  # one for each, the oldest first, up to a number


class Overlap(StrEnum):
    """What happens to a slot that comes while a run of an earlier one is unfinished."""

    SKIP = "skip"  # it is skipped
    QUEUE = "queue"  # its run waits for the others
    ALLOW = "allow"  # its run works beside them
    REPLACE = "replace"  # the others are asked to end, and its run waits for that


@dataclass(frozen=True)
class DueSlots:
    """The slots to run, oldest first, and those that are dropped: how many, and from when to when."""

    slots: list[datetime]
    is_misfire: bool = False
    dropped: int = 0
    dropped_from: datetime | None = None
    dropped_until: datetime | None = None


def due_slots(
    recurrence: Recurrence,
    first: datetime,
    now: datetime,
    *,
    misfire: Misfire = Misfire.ONCE,
    limit: int = 1,
    lateness: timedelta | None = None,
) -> DueSlots:
    """What becomes of the slots from `first` on that are not after `now`.

    While the oldest of them is at most MISSED_AFTER late, each is run. Else nobody was there, and `misfire` decides for
    all of them, also for the one that has just come: with ALL at most `limit` are run. A slot that is later than
    `lateness` is dropped in any case.
    """
    before = just_before(first)
    oldest = recurrence.next_after(before)
    if oldest is None or oldest > now:
        return DueSlots([])
    is_misfire = now - oldest > MISSED_AFTER
    horizon = before if lateness is None else max(before, just_before(now - lateness))
    slots = _chosen(recurrence, horizon, now, misfire, limit) if is_misfire else _each(recurrence, horizon, now)
    dropped = recurrence.count(before, now) - len(slots)
    if not dropped:
        return DueSlots(slots, is_misfire)
    return DueSlots(slots, is_misfire, dropped, *_range(recurrence, oldest, now, slots))


def _each(recurrence: Recurrence, after: datetime, now: datetime) -> list[datetime]:
    return list(takewhile(lambda slot: slot <= now, recurrence.after(after)))


def _chosen(recurrence: Recurrence, after: datetime, now: datetime, misfire: Misfire, limit: int) -> list[datetime]:
    if misfire == Misfire.ALL:
        return list(islice(takewhile(lambda slot: slot <= now, recurrence.after(after)), limit))
    last = recurrence.last_until(now) if misfire == Misfire.ONCE else None
    return [] if last is None or last <= after else [last]


def _range(recurrence: Recurrence, oldest: datetime, now: datetime, slots: list[datetime]) -> tuple[datetime, datetime]:
    """From which slot to which those lie that are not run."""
    last = recurrence.last_until(now)
    if slots and slots[0] == oldest:  # those after the ones that are run
        return recurrence.next_after(slots[-1]), last
    if slots and slots[-1] == last:
        return oldest, recurrence.last_until(just_before(slots[0]))
    return oldest, last
