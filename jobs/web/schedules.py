"""The schedules of a job as its page shows them, and the next fire of every job of a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Min, OuterRef, Subquery

from jobs import access
from jobs.lifecycle.database import alias
from jobs.models import Job, Run, Schedule

A_PAGE = 25


@dataclass(frozen=True)
class Shown:
    """One schedule, and the run of its latest slot if this person may see it."""

    schedule: Schedule
    last_run: Run | None

    @property
    def words(self) -> str:
        """The rule as people say it; nothing where its problem says what is wrong with it."""
        words = self.schedule.words
        return "" if self.schedule.problem and words.startswith(self.schedule.problem) else words


def page_of_job(job: Job, user, number: str | None) -> tuple[Page, list[Shown]]:
    """A page of the schedules of a job, the oldest first."""
    schedules = Schedule.objects.using(alias()).filter(job=job).defer("arguments_json").order_by("pk")
    page = Paginator(schedules.annotate(last_run_id=_last_run_id()), A_PAGE).get_page(number)
    runs = _visible(user, {schedule.last_run_id for schedule in page if schedule.last_run_id})
    return page, [Shown(schedule, runs.get(schedule.last_run_id)) for schedule in page]


def _last_run_id() -> Subquery:
    """By the unique index of slots: one look per schedule, however long the history is."""
    runs = Run.objects.filter(schedule_id=OuterRef("pk"), slot__isnull=False)
    return Subquery(runs.order_by("-slot").values("pk")[:1])


def _visible(user, run_ids: set[int]) -> dict[int, Run]:
    return access.visible_runs(user).only("state").in_bulk(list(run_ids)) if run_ids else {}


def next_fires(job_ids: Sequence[int]) -> dict[int, datetime]:
    """When each of these jobs is run next by a schedule."""
    schedules = Schedule.objects.using(alias()).filter(job_id__in=job_ids, next_slot_at__isnull=False)
    found = schedules.order_by().values("job_id").annotate(next_fire=Min("next_slot_at"))
    return dict(found.values_list("job_id", "next_fire"))


def schedule_of(run: Run) -> Schedule | None:
    """The schedule that a run comes from, by its names; None if there is none, or no more."""
    if run.schedule_id is None:
        return None
    return Schedule.objects.using(run._state.db).filter(pk=run.schedule_id).only("name", "time_zone").first()
