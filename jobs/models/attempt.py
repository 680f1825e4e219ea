"""What the executions of a run leave behind: how the unsuccessful ones ended, and what all of them wrote to the log."""

from django.db import models

from jobs.models.fields import CharField, TextField, UTCDateTimeField
from jobs.models.run import Run


class Attempt(models.Model):
    """An execution of a run that did not succeed: how it ended and what it said."""

    class Outcome(models.TextChoices):
        FAILED = "failed", "failed"
        LOST = "lost", "its worker was lost"
        INTERRUPTED = "interrupted", "interrupted by a shutdown"
        CANCELLED = "cancelled", "cancelled"
        SNOOZED = "snoozed", "snoozed"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    number = models.IntegerField()
    outcome = CharField(max_length=12, choices=Outcome)
    error_class = CharField(max_length=255, blank=True, default="", db_default="")
    message = TextField(null=True, blank=True)
    traceback = TextField(null=True, blank=True)
    worker_id = models.BigIntegerField(null=True, blank=True)
    worker_name = CharField(max_length=255, blank=True, default="", db_default="")
    started_at = UTCDateTimeField(null=True, blank=True)
    ended_at = UTCDateTimeField()

    class Meta:
        indexes = [
            # The attempts of a run: WHERE run_id = ? ORDER BY number.
            models.Index(fields=["run", "number"], name="jobs_attempt_of_run"),
        ]

    def __str__(self):
        return f"attempt {self.number} of run {self.run_id}: {self.outcome}"


class RunLog(models.Model):
    """A piece of what one attempt of a run wrote to its log, in order of id."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="log_chunks", db_index=False)
    attempt = models.IntegerField()
    number = models.IntegerField()  # counts the pieces of one attempt, so that none is stored twice
    text = TextField()
    written_at = UTCDateTimeField()

    class Meta:
        indexes = [
            # The log of a run, and what came after the last look: WHERE run_id = ? AND id > ? ORDER BY id.
            models.Index(fields=["run", "id"], name="jobs_runlog_of_run"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["run", "attempt", "number"], name="jobs_runlog_piece"),
        ]

    def __str__(self):
        return f"log of run {self.run_id}, attempt {self.attempt}"
