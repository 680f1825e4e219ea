"""`manage.py firetimes`: when a cron expression fires."""

from argparse import ArgumentTypeError
from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.management.base import CommandError

from jobs.core.clock import now
from jobs.core.clock_changes import first_moment, remarks
from jobs.core.cron import Cron
from jobs.core.rule_error import RuleError
from jobs.management.base import JobsCommand

MOST = 1000


class Command(JobsCommand):
    help = (
        "Print the next times at which a cron expression fires, in UTC, one a line. What it means, and what the change "
        "of the clocks does to it, is told on stderr; -v 0 leaves that out."
    )

    def add_arguments(self, parser):
        parser.add_argument("expression", help='Five fields in quotes, e.g. "30 2 * * *", or a name such as @daily.')
        parser.add_argument("--zone", metavar="NAME", help="Time zone of the expression. Default: TIME_ZONE.")
        parser.add_argument(
            "--from", dest="start", metavar="TIME",
            help="Only times after this one, e.g. 2027-03-28T12:00. It is a local time of the zone unless it has an "
            "offset or a Z; a date alone is its midnight. A local time that the clocks skip counts as the moment "
            "right after, one that comes twice as the first. Default: now.",
        )  # fmt: skip
        parser.add_argument("--count", type=_count, default=10, metavar="N", help=f"1 to {MOST}. Default: 10.")

    def handle(self, *, expression, zone=None, start=None, count=10, verbosity=1, **options):
        cron = _cron(expression, settings.TIME_ZONE if zone is None else zone)
        moment = now() if start is None else _moment(start, cron.zone)
        times = list(islice(cron.after(moment), count))
        if verbosity:
            self._explain(cron, moment, len(times) < count)
        for fires_at in times:
            self.stdout.write(fires_at.replace(tzinfo=None).isoformat() + "Z")

    def _explain(self, cron: Cron, moment: datetime, is_end: bool) -> None:
        lines = [f"{cron.words}.", *remarks(cron, moment)]
        if is_end:
            lines.append("The calendar ends in the year 9999.")
        for line in lines:
            self.stderr.write(line, self.style.NOTICE)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST):
        raise ArgumentTypeError(f"Expected 1 to {MOST}, got {text!r:.80}. Ask for fewer, or go on with --from.")
    return int(text)


def _cron(expression: str, zone_name: str) -> Cron:
    try:
        return Cron.of(expression, zone_name)
    except RuleError as error:
        raise CommandError(f"{error} {_ADVICE[error.field]}") from None


_ADVICE = {
    "expression": 'Write another one; "30 2 * * *", for example, is 02:30 every day.',
    "time_zone": "Name another one with --zone.",
}


def _moment(text: str, zone: ZoneInfo) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return first_moment(zone, moment) if moment.tzinfo is None else moment
    except ValueError:
        got = f"got {text!r:.80}"
    except OverflowError:
        got = f"got {text!r:.80}, which is outside of the calendar"
    raise CommandError(f"Expected a time such as 2027-03-28T12:00 or a date for --from, {got}. Write another one.")
