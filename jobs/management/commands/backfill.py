"""`manage.py backfill`: run past slots of a schedule that have no run."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.core.management.base import CommandError

from jobs.core.cron import read_zone
from jobs.core.rule_error import RuleError
from jobs.errors import JobsError
from jobs.lifecycle import backfill, open_slots, slots_between
from jobs.lifecycle.database import alias
from jobs.management.base import JobsCommand
from jobs.management.local_time import is_day, read_local_time
from jobs.models import Job, Schedule
from jobs.options import check_options

_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)


class Command(JobsCommand):
    help = (
        "Run the past slots of a job's schedule that have no run yet, each once: all or none are stored. Times are "
        "those of the schedule's time zone; both ends are included, and a day as the end is the whole day."
    )

    def add_arguments(self, parser):
        parser.add_argument("job", help="Name or number of the job.")
        parser.add_argument("--schedule", help="Name or number of the schedule, where the job has several.")
        parser.add_argument("--from", required=True, dest="start", metavar="TIME", help="E.g. 2027-03-01T06:00.")
        parser.add_argument("--to", required=True, dest="until", metavar="TIME", help="E.g. 2027-03-31.")
        parser.add_argument("--priority", type=int, help="-100 (most urgent) to 100. Default: that of the job.")
        parser.add_argument("--note", default="", help="Kept in the audit log.")
        parser.add_argument("--dry-run", action="store_true", help="Only show the slots that have no run.")

    def handle(self, *, job, schedule, start, until, priority, note, dry_run, **options):
        chosen = _schedule(_job(job), schedule)
        try:
            check_options({} if priority is None else {"priority": priority}, allowed=("priority",))
            zone = read_zone(chosen.time_zone)
            start, until = read_local_time(start, zone), _end(until, zone)
            if dry_run:
                self._show(open_slots(chosen, slots_between(chosen, start, until)))
                return
            runs = backfill(chosen, start, until, priority=priority, actor="manage.py backfill", note=note)
        except (JobsError, RuleError, TypeError, ValueError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{len(runs)} runs of {chosen.job} are stored." if runs else "Every slot has a run already.")

    def _show(self, slots: list[datetime]) -> None:
        for slot in slots:
            self.stdout.write(f"{slot:%Y-%m-%dT%H:%M:%SZ}")


def _job(text: str) -> Job:
    jobs = Job.objects.using(alias())
    found = jobs.filter(name=text).first() or (jobs.filter(pk=int(text)).first() if _is_number(text) else None)
    if found is None:
        raise CommandError(f"There is no job {text!r}. Give the name or the number of one.")
    return found


def _schedule(job: Job, text: str | None) -> Schedule:
    schedules = list(Schedule.objects.using(alias()).filter(job=job).select_related("job"))
    chosen = [each for each in schedules if text in (None, each.name, str(each.pk))]
    if len(chosen) == 1:
        return chosen[0]
    if not schedules:
        raise CommandError(f"The job {job} has no schedule.")
    known = ", ".join(f"{each.pk} ({each.name or each.words})" for each in schedules)
    raise CommandError(f"Choose one schedule of the job {job} with --schedule: {known}.")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _end(text: str, zone: ZoneInfo) -> datetime:
    """A day alone means the whole day."""
    if not is_day(text):
        return read_local_time(text, zone)
    following = (datetime.fromisoformat(text) + _DAY).date().isoformat()
    return read_local_time(following, zone) - _MICROSECOND
