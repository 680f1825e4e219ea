"""What the commands of the app share."""

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError


class JobsCommand(BaseCommand):
    """Runs without the system checks: a tasks module that cannot be imported fails its own runs and nothing else. What
    is wrong with the JOBS setting is told as an error of the command."""

    requires_system_checks = []

    def execute(self, *args, **options):
        try:
            return super().execute(*args, **options)
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
