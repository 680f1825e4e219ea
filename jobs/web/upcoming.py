"""What is due in the next 24 hours: the slots of schedules, and the runs that were put off.

The work is bounded: so many schedules, the next ones first, and a rhythm with many slots is not followed slot by slot.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import QuerySet

from jobs import access
from jobs.core.recurrence import Recurrence, duration_words
from jobs.core.rule_error import RuleError
from jobs.core.states import State
from jobs.lifecycle.database import alias
from jobs.models import Run, Schedule

LENGTH = timedelta(hours=24)
MOST_ROWS = 40
MOST_TICKS = 100  # in a row; a rhythm with more is drawn as a band
MOST_LISTED = 100
MOST_PROBLEMS = 20

_HOP = timedelta(hours=1)
_COLUMNS = (
    "name", "kind", "expression", "interval_seconds", "anchor_at", "time_zone", "starts_at", "ends_at", "last_slot_at",
    "next_slot_at", "look_at", "job__name",
)  # fmt: skip


@dataclass(frozen=True)
class Period:
    """The time that is shown, from `start` on."""

    start: datetime
    length: timedelta = LENGTH

    @property
    def end(self) -> datetime:
        return self.start + self.length

    def minutes(self, moment: datetime) -> float:
        """How far a moment is from the start, in minutes: its place in a drawing that is 1,440 wide."""
        return (moment - self.start) / timedelta(minutes=1)

    def percent(self, moment: datetime) -> float:
        return 100 * ((moment - self.start) / self.length)


@dataclass(frozen=True)
class Band:
    """A stretch of a dense rhythm, in minutes from the start."""

    start: float
    width: float


@dataclass(frozen=True)
class Entry:
    """One line of the list: a slot of a schedule, all slots of a dense one, or a run that was put off."""

    at: datetime
    row: "Row | None" = None
    run: Run | None = None


@dataclass
class Row:
    """One schedule in the drawing: its slots one by one, or the bands of a dense rhythm."""

    schedule: Schedule
    words: str
    count: int
    is_overdue: bool
    slots: list[datetime] = field(default_factory=list)  # the first one of a dense rhythm
    ticks: str = ""
    bands: list[Band] = field(default_factory=list)
    rhythm: str = ""
    text_percent: float = 0


def due_schedules(period: Period) -> QuerySet[Schedule]:
    """The schedules that have a slot in the period, the next one first. They follow the index on `look_at`."""
    found = Schedule.objects.using(alias()).filter(look_at__lte=period.end, next_slot_at__lte=period.end)
    return found.filter(job__is_enabled=True).select_related("job").only(*_COLUMNS).order_by("look_at", "pk")


def rows_of(schedules: Iterable[Schedule], period: Period) -> list[Row]:
    """A row for each schedule whose rule can be read; the others tell their problem elsewhere."""
    found = []
    for schedule in schedules:
        try:
            found.append(_row(schedule, period))
        except RuleError:
            continue
    return found


def _row(schedule: Schedule, period: Period) -> Row:
    recurrence = schedule.recurrence
    after = max(period.start, schedule.last_slot_at or period.start)
    count = recurrence.count(after, period.end)
    row = Row(schedule, recurrence.words, count, is_overdue=schedule.next_slot_at <= period.start)
    if count <= MOST_TICKS:
        row.slots = recurrence.first(count, after)
        row.ticks = ticks(row.slots, period)
    else:
        stretches = _stretches(recurrence, after, period)
        row.slots = [stretches[0][0]]
        row.bands = [_band(start, end, period) for start, end in stretches]
        row.rhythm = _rhythm(count, stretches)
        row.text_percent = _text_percent(period.percent(stretches[0][0]))
    return row


def _text_percent(start: float) -> float:
    """Where the text of a band has room: in it, or before it if it begins far to the right."""
    return start if start < 60 else 0


def _band(start: datetime, end: datetime, period: Period) -> Band:
    return Band(period.minutes(start), period.minutes(end) - period.minutes(start))


def ticks(moments: Iterable[datetime], period: Period) -> str:
    """Moments as one path of an SVG: thousands of elements would make the page slow."""
    return "".join(f"M{period.minutes(moment):.2f} 4v16" for moment in moments)


def _stretches(recurrence: Recurrence, after: datetime, period: Period) -> list[tuple[datetime, datetime]]:
    """From when to when a dense rhythm goes on, found by leaps. Slots that lie nearer than ticks would be are one."""
    nearest, found = period.length / MOST_TICKS, []
    start = recurrence.next_after(after)
    while start is not None and start <= period.end:
        end = max(start, recurrence.last_until(min(start + _HOP, period.end)) or start)
        if found and start - found[-1][1] <= nearest:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
        start = recurrence.next_after(end)
    return found


def _rhythm(count: int, stretches: list[tuple[datetime, datetime]]) -> str:
    """Such as "1,440 times, every minute"."""
    steps = count - len(stretches)
    mean = sum((end - start for start, end in stretches), timedelta()) / max(1, steps)
    rounded = timedelta(seconds=max(1, round(mean.total_seconds())))
    about = "" if rounded == mean else "about "
    return f"{count:,} times, {about}every {duration_words(rounded)}"


def put_off_runs(user, period: Period) -> list[Run]:
    """The runs that wait for their time in the period, the next one first, one more than are shown; for who may see
    all runs."""
    if not access.sees_all(user):
        return []
    runs = access.all_runs().filter(state=State.SCHEDULED.value, due_at__gt=period.start, due_at__lte=period.end)
    return list(runs.only("task", "job_name", "due_at").order_by("due_at", "id")[: MOST_TICKS + 1])


def entries_of(rows: Iterable[Row], runs: Iterable[Run]) -> list[Entry]:
    """The list of all that is drawn, in order. A dense rhythm has one line, at its first slot."""
    slots = [Entry(at, row=row) for row in rows for at in row.slots]
    return sorted([*slots, *(Entry(run.due_at, run=run) for run in runs)], key=lambda entry: entry.at)


def with_problems() -> list[Schedule]:
    """Schedules that do not fire, or not as they should, one more than are shown. Of a row that cannot be read only
    what can be."""
    found = Schedule.objects.using(alias()).exclude(problem="").select_related("job")
    return list(found.only("name", "problem", "is_enabled", "job__name").order_by("pk")[: MOST_PROBLEMS + 1])
