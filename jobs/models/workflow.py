"""Runs that belong together, and the edges between them."""

from django.db import models

from jobs.models.fields import CharField, UTCDateTimeField
from jobs.models.job import EdgeRule
from jobs.models.run import Run


class Workflow(models.Model):
    """A graph of runs that was enqueued as one. Its state is derived from its runs."""

    name = CharField(max_length=200)
    job_id = models.BigIntegerField(null=True, blank=True)
    inherits_priority = models.BooleanField(default=True, db_default=True)
    created_at = UTCDateTimeField(null=True)
    finished_at = UTCDateTimeField(null=True, blank=True)
    submitted_by_key = CharField(max_length=100, blank=True, default="", db_default="")
    submitted_by_name = CharField(max_length=150, blank=True, default="", db_default="")

    class Meta:
        indexes = [
            # The last workflows of a job: WHERE job_id = ? ORDER BY id DESC.
            models.Index(fields=["job_id", "id"], name="jobs_workflow_of_job"),
        ]

    def __str__(self):
        return f"{self.name} #{self.pk}"


class RunDependency(models.Model):
    """An edge between two runs. What has been settled stays settled when the upstream row is pruned."""

    upstream = models.ForeignKey(
        Run, on_delete=models.DO_NOTHING, db_constraint=False, related_name="downstream_edges", db_index=False
    )
    downstream = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="upstream_edges", db_index=False)
    rule = CharField(max_length=10, choices=EdgeRule, default=EdgeRule.SUCCESS)
    settled_at = UTCDateTimeField(null=True, blank=True)
    is_satisfied = models.BooleanField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "run dependencies"
        constraints = [
            # An edge is stored once; also: the upstreams of a run, WHERE downstream_id = ?.
            models.UniqueConstraint(fields=["downstream", "upstream"], name="jobs_rundependency_edge"),
        ]
        indexes = [
            # Whom a finished run unblocks: WHERE upstream_id = ? AND settled_at IS NULL.
            models.Index(fields=["upstream", "settled_at"], name="jobs_rundependency_open"),
        ]

    def __str__(self):
        return f"{self.upstream_id} → {self.downstream_id} ({self.rule})"
