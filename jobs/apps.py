"""The app's entry into a Django project."""

import os
import sys
from contextlib import suppress

from django.apps import AppConfig, apps
from django.core.exceptions import ImproperlyConfigured


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = "Jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self):
        """Find the task functions and arm the scheduler. No query, and no thread that runs one before all is ready."""
        from jobs import checks  # noqa: F401 - registers the system checks
        from jobs.registry import registry
        from jobs.runtime import autostart

        registry.discover(config.name for config in apps.get_app_configs())
        with suppress(ImproperlyConfigured):  # a system check tells every problem of the JOBS setting, with hints
            autostart.arm(sys.argv, os.environ)
