"""Slots of schedules that were not run: nobody worked, or the run before was unfinished."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs import access
from jobs.core import clock
from jobs.core.states import Reason, State
from jobs.lifecycle.database import alias
from jobs.models import Run, Schedule

SINCE = timedelta(days=7)
MOST = 50
# Of what was skipped lately, so much is looked through for slots.
WINDOW = 20_000

WHY = {Reason.MISSED.value: "Nobody worked", Reason.OVERLAP.value: "The run before was unfinished"}


@dataclass(frozen=True)
class Missed:
    """What one skipped run tells: how many slots were not run, from which to which, and why."""

    run: Run
    count: int | None
    first: datetime | None
    last: datetime | None
    schedule: Schedule | None = None

    @property
    def why(self) -> str:
        return WHY[self.run.reason_code]


def of_run(run: Run, schedule: Schedule | None = None) -> Missed | None:
    """What a run tells about slots that were not run; None if it is about something else."""
    if run.reason_code not in WHY:
        return None
    told = run.reason_arguments
    count = told.get("count")
    first, last = (_moment(told.get(name)) or run.scheduled_for for name in ("from", "until"))
    return Missed(run, count if isinstance(count, int) else None, first, last, schedule)


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else None


def lately_missed() -> list[Missed]:
    """Slots that were not run in the last seven days, the latest first, one more than are shown."""
    runs = _lately_skipped().filter(reason_code__in=WHY)
    found = list(
        runs.only("job_id", "job_name", "task", "reason_code", "reason_json", "schedule_id", "scheduled_for", "state")[
            : MOST + 1
        ]
    )
    schedules = _schedules({run.schedule_id for run in found})
    return [of_run(run, schedules.get(run.schedule_id)) for run in found]


def _lately_skipped():
    """A range of the index of ends, so long that looking through it takes no time that a person would notice."""
    since = clock.now() - SINCE
    runs = access.all_runs().filter(state=State.SKIPPED.value, finished_at__gte=since).order_by("-finished_at", "-id")
    edge = next(iter(runs.values_list("finished_at", flat=True)[WINDOW - 1 : WINDOW]), None)
    return runs if edge is None else runs.filter(finished_at__gte=edge)


def _schedules(ids: Sequence[int]) -> dict[int, Schedule]:
    return Schedule.objects.using(alias()).only("name", "time_zone").in_bulk(list(ids)) if ids else {}
