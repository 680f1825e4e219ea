"""When a job runs by itself."""

from django.db import models

from jobs.models.fields import UTCDateTimeField
from jobs.models.job import Job


class Schedule(models.Model):
    """One rhythm of a job, with parameters of its own. A job may have several."""

    class Kind(models.TextChoices):
        CRON = "cron", "cron expression"
        INTERVAL = "interval", "every so often"
        ONCE = "once", "once"

    class Misfire(models.TextChoices):
        """What happens to slots that passed while nobody was there."""

        ONCE = "once", "run once for all of them"
        SKIP = "skip", "skip them"
        ALL = "all", "run each, up to a number"

    class Overlap(models.TextChoices):
        """What happens to a slot that comes while the last run still works."""

        SKIP = "skip", "skip the slot"
        QUEUE = "queue", "run after it"
        ALLOW = "allow", "run beside it"
        REPLACE = "replace", "ask the old run to stop"

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="schedules")
    name = models.CharField(max_length=200, blank=True, default="", db_default="")
    kind = models.CharField(max_length=10, choices=Kind)
    expression = models.CharField(max_length=200, blank=True, default="", db_default="")
    interval_seconds = models.FloatField(null=True, blank=True)
    anchor_at = UTCDateTimeField(null=True, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    starts_at = UTCDateTimeField(null=True, blank=True)
    ends_at = UTCDateTimeField(null=True, blank=True)
    jitter_seconds = models.FloatField(default=0, db_default=0)
    arguments_json = models.TextField(null=True, blank=True)  # noqa: DJ001 - MariaDB gives text columns no default
    misfire = models.CharField(max_length=10, choices=Misfire, default=Misfire.ONCE)
    misfire_limit = models.PositiveIntegerField(default=1, db_default=1)
    lateness_seconds = models.FloatField(null=True, blank=True)
    overlap = models.CharField(max_length=10, choices=Overlap, default=Overlap.SKIP)
    is_enabled = models.BooleanField(default=True, db_default=True)
    declared_in_code = models.BooleanField(default=False, db_default=False, editable=False)
    problem = models.CharField(max_length=500, blank=True, default="", db_default="", editable=False)
    last_slot_at = UTCDateTimeField(null=True, editable=False)
    next_slot_at = UTCDateTimeField(null=True, editable=False)
    missed_count = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    created_at = UTCDateTimeField(null=True, editable=False)
    updated_at = UTCDateTimeField(null=True, editable=False)

    class Meta:
        indexes = [
            # Which enabled schedules are due: WHERE is_enabled AND next_slot_at <= now.
            models.Index(fields=["is_enabled", "next_slot_at"], name="jobs_schedule_due"),
        ]

    def __str__(self):
        return self.name or f"{self.job_id}: {self.expression or self.kind}"
