"""`manage.py rekeyruns`: put a changed AGEING_SECONDS into force."""

from django.core.management.base import CommandError

from jobs.lifecycle.ageing import WorkersPresent, rekey
from jobs.management.base import JobsCommand


class Command(JobsCommand):
    help = "Give all unfinished runs the order keys of the AGEING_SECONDS that is set now. Stop all workers first."

    def handle(self, **options):
        try:
            count = rekey()
        except WorkersPresent as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{count} unfinished runs have new order keys.")
