"""Definitions: what can be run, with which parameters and rules, after what."""

import json

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from jobs.core.order import MAX_PRIORITY, MIN_PRIORITY
from jobs.core.retry import Backoff
from jobs.core.states import OnLost
from jobs.models.fields import CharField, TextField, UTCDateTimeField
from jobs.options import LONGEST, MOST_ATTEMPTS, PROCESSES, THREADS
from jobs.parameters import loads

PRIORITY_RANGE = [MinValueValidator(MIN_PRIORITY), MaxValueValidator(MAX_PRIORITY)]
EXECUTOR_CHOICES = [(THREADS, "A thread of the worker"), (PROCESSES, "A process of its own, which can be killed")]
ON_LOST_CHOICES = [(OnLost.REQUEUE.value, "Run it again"), (OnLost.FAIL.value, "Let it fail")]


def check_deadline(seconds: float) -> None:
    """ValidationError unless it is above 0 and not beyond the longest deadline; NaN, which is neither, as well."""
    _check_seconds("start_deadline", seconds)


def check_timeout(seconds: float) -> None:
    """The same for a timeout."""
    _check_seconds("timeout", seconds)


def _check_seconds(option: str, seconds: float) -> None:
    if not 0 < seconds <= LONGEST[option].total_seconds():
        raise ValidationError(f"Expected seconds above 0, at most {LONGEST[option].days} days, got {seconds}.")


class EdgeRule(models.TextChoices):
    """How an upstream must end for its downstream to start."""

    SUCCESS = "success", "when it succeeded"
    ANY_END = "any_end", "however it ended"
    FAILURE = "failure", "when it failed"


class Job(models.Model):
    """A stored definition. An empty option means: as the task function says."""

    name = CharField(max_length=200, unique=True)
    description = TextField(blank=True, null=True)
    task = CharField("task function", max_length=200)
    arguments_json = TextField("parameters", default="{}")
    is_enabled = models.BooleanField("enabled", default=True, db_default=True)
    paused_reason = CharField(max_length=200, blank=True, default="", db_default="")

    priority = models.SmallIntegerField(
        null=True, blank=True, validators=PRIORITY_RANGE, help_text="-100 (most urgent) to 100; lower starts first."
    )
    queue = CharField(max_length=100, blank=True, default="", db_default="")
    on_lost = CharField(
        "when its worker is lost", max_length=10, blank=True, default="", db_default="", choices=ON_LOST_CHOICES
    )
    max_losses = models.PositiveSmallIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    max_attempts = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(MOST_ATTEMPTS)]
    )
    backoff_json = TextField(null=True, blank=True)
    timeout_seconds = models.FloatField(
        null=True,
        blank=True,
        validators=[check_timeout],
        help_text="In seconds, for each execution. Its function is told when it is over; what it does then is its own.",
    )
    start_deadline_seconds = models.FloatField(
        null=True,
        blank=True,
        validators=[check_deadline],
        help_text="In seconds. A run that would start later than this after its time is skipped.",
    )
    executor = CharField(max_length=20, blank=True, default="", db_default="", choices=EXECUTOR_CHOICES)
    limit_key = CharField(max_length=255, blank=True, default="", db_default="")
    unique_key = CharField(max_length=255, blank=True, default="", db_default="")
    retention_seconds = models.BigIntegerField(null=True, blank=True)

    upstream_jobs = models.ManyToManyField(
        "self", through="JobDependency", through_fields=("downstream", "upstream"), symmetrical=False, blank=True
    )
    created_at = UTCDateTimeField(null=True, editable=False)
    updated_at = UTCDateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["name"]
        permissions = [("run_job", "Can run a job")]

    def __str__(self):
        return self.name

    @property
    def arguments(self) -> dict:
        """The stored parameters as JSON values by name."""
        return loads(self.arguments_json)

    @property
    def backoff(self) -> Backoff | None:
        """The pauses before its runs are tried again; None: as its function says. ValueError or TypeError if somebody
        has stored what is none."""
        if not self.backoff_json:
            return None
        try:
            return Backoff.from_json(json.loads(self.backoff_json))
        except RecursionError:
            raise ValueError("a stored backoff is nested too deep.") from None

    def clean(self):
        from jobs.registry import registry  # parameters of model types need the app registry to be ready

        if self.task not in registry:
            raise ValidationError({"task": "Choose one of the registered task functions."})
        try:
            arguments = loads(self.arguments_json)
        except ValueError as error:
            raise ValidationError({"arguments_json": f"Expected a JSON object such as {{}}: {error}."}) from None
        if not isinstance(arguments, dict):
            raise ValidationError({"arguments_json": "Expected a JSON object such as {}."})
        try:
            registry.get(self.task).signature.bind((), arguments)
        except TypeError as error:
            raise ValidationError({"arguments_json": str(error)}) from None


class JobDependency(models.Model):
    """An edge between two definitions: `downstream` starts after `upstream`, by `rule`."""

    upstream = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="downstream_edges")
    downstream = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="upstream_edges")
    rule = CharField(max_length=10, choices=EdgeRule, default=EdgeRule.SUCCESS)

    class Meta:
        verbose_name_plural = "job dependencies"
        constraints = [models.UniqueConstraint(fields=["upstream", "downstream"], name="jobs_jobdependency_edge")]

    def __str__(self):
        return f"{self.upstream_id} → {self.downstream_id} ({self.rule})"
