"""Runs: one request to execute a task function once, with its state and history."""

import json

from django.db import models

from jobs.core.states import FINAL, WAITING, OnLost, Reason, State
from jobs.models.fields import CharField, TextField, UTCDateTimeField
from jobs.models.job import ON_LOST_CHOICES, Job
from jobs.models.reasons import sentence
from jobs.parameters import loads

# Its function ended without a failure, and the run is cancelled: no counter tells of this execution.
_BY_FUNCTION = (Reason.STOPPED_BY_REQUEST, Reason.STOPPED_ITSELF)

STATE_CHOICES = [(state.value, state.value) for state in State]


class Run(models.Model):
    """One row of history. Only `jobs.lifecycle` changes its state.

    Columns that an enqueue does not fill have database defaults, so that its INSERT names only what it knows.
    """

    # What is run. The job's row may go; its name stays, and a new job of that name does not inherit this run.
    task = CharField("task function", max_length=200)
    arguments_json = TextField("parameters", default="{}")
    job = models.ForeignKey(
        Job,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="runs",
    )
    job_name = CharField(max_length=200, blank=True, default="", db_default="")

    # Where it stands, and why.
    state = CharField(max_length=10, choices=STATE_CHOICES)
    reason_code = CharField(max_length=30, blank=True, default="", db_default="")
    reason_json = TextField(null=True, blank=True)

    # Its place in the order.
    queue = CharField(max_length=100)
    priority = models.SmallIntegerField()
    effective_priority = models.SmallIntegerField()
    ready_at = UTCDateTimeField()
    order_key = models.BigIntegerField()

    # Its times.
    enqueued_at = UTCDateTimeField()
    due_at = UTCDateTimeField(null=True, blank=True)
    start_deadline_at = UTCDateTimeField(null=True, blank=True)
    started_at = UTCDateTimeField(null=True, blank=True)
    finished_at = UTCDateTimeField(null=True, blank=True)
    timeout_seconds = models.FloatField(null=True, blank=True)

    # Its owner: plain numbers. A worker whose row is missing counts as dead.
    worker_id = models.BigIntegerField(null=True, blank=True)
    claim_no = models.IntegerField(default=0, db_default=0)

    # How often it was tried, by the way each try ended; their sum + 1 is the number of the attempt.
    failures = models.IntegerField(default=0, db_default=0)
    losses = models.IntegerField(default=0, db_default=0)
    interruptions = models.IntegerField(default=0, db_default=0)
    snoozes = models.IntegerField(default=0, db_default=0)
    max_attempts = models.IntegerField(default=1, db_default=1)
    max_losses = models.IntegerField(default=3, db_default=3)
    max_interruptions = models.IntegerField(default=5, db_default=5)
    on_lost = CharField(
        max_length=10, choices=ON_LOST_CHOICES, default=OnLost.REQUEUE.value, db_default=OnLost.REQUEUE.value
    )
    executor = CharField(max_length=20, blank=True, default="", db_default="")
    options_json = TextField(null=True, blank=True)
    retention_seconds = models.BigIntegerField(null=True, blank=True)

    # What holds it back, and what it must not meet twice.
    upstream_open = models.IntegerField(default=0, db_default=0)
    limit_key = CharField(max_length=255, blank=True, default="", db_default="")
    unique_key = CharField(max_length=255, blank=True, default="", db_default="")
    unique_hash = CharField(max_length=64, null=True, blank=True, unique=True)

    # Where it comes from. Plain numbers where the other row may be pruned first.
    schedule_id = models.BigIntegerField(null=True, blank=True)
    slot = UTCDateTimeField(null=True, blank=True)
    scheduled_for = UTCDateTimeField(null=True, blank=True)
    rerun_of_id = models.BigIntegerField(null=True, blank=True)
    workflow_id = models.BigIntegerField(null=True, blank=True)
    submitted_by_key = CharField(max_length=100, blank=True, default="", db_default="")
    submitted_by_name = CharField(max_length=150, blank=True, default="", db_default="")

    # What it tells while it works, and what it leaves.
    cancel_requested_at = UTCDateTimeField(null=True, blank=True)
    progress_done = models.FloatField(null=True, blank=True)
    progress_total = models.FloatField(null=True, blank=True)
    progress_message = CharField(max_length=200, blank=True, default="", db_default="")
    progress_at = UTCDateTimeField(null=True, blank=True)
    result_json = TextField(null=True, blank=True)

    # Whether `enqueue` stored this row, or found it under the same unique key. Not a column.
    is_new = False
    # Whether `run_again` found it as what the same press of a button had made. Not a column.
    is_of_earlier_press = False

    class Meta:
        permissions = [
            ("cancel_run", "Can cancel a run"),
            ("rerun_run", "Can run a run again"),
            ("view_arguments", "Can see the parameters and results of runs"),
        ]
        constraints = [
            # A slot of a schedule is fired once, by whoever comes first. Runs without a schedule are not compared.
            models.UniqueConstraint(fields=["schedule_id", "slot"], name="jobs_run_slot"),
        ]
        indexes = [
            # Claim: WHERE state = 'queued' AND queue = ? ORDER BY order_key, id LIMIT n; the queues that have work; who
            # is running (a worker's own runs, the runs of the dead: WHERE state = 'running').
            models.Index(fields=["state", "queue", "order_key", "id"], name="jobs_run_claim"),
            # Promote: WHERE state = 'scheduled' AND due_at <= now ORDER BY due_at; the next due time.
            models.Index(fields=["state", "due_at"], name="jobs_run_due"),
            # Skip what would start too late: WHERE state = ? AND start_deadline_at <= now.
            models.Index(fields=["state", "start_deadline_at"], name="jobs_run_deadline"),
            # Recent ends and pruning: WHERE state = ? AND finished_at < ? ORDER BY finished_at.
            models.Index(fields=["state", "finished_at"], name="jobs_run_finished"),
            # Admit under a limit: WHERE limit_key = ? AND state = ? ORDER BY order_key.
            models.Index(fields=["limit_key", "state", "order_key"], name="jobs_run_limit"),
            # The last runs of a job: WHERE job_id = ? ORDER BY id DESC.
            models.Index(fields=["job_id", "id"], name="jobs_run_of_job"),
            # The runs of a workflow: WHERE workflow_id = ? ORDER BY id.
            models.Index(fields=["workflow_id", "id"], name="jobs_run_of_workflow"),
            # A person's own runs: WHERE submitted_by_key = ? ORDER BY id DESC.
            models.Index(fields=["submitted_by_key", "id"], name="jobs_run_of_submitter"),
            # The repetitions of a run: WHERE rerun_of_id = ?.
            models.Index(fields=["rerun_of_id"], name="jobs_run_repetitions"),
        ]

    def __str__(self):
        return f"{self.title} #{self.pk}"

    @property
    def title(self) -> str:
        """What people call it: the name of its job, else the label of its function."""
        from jobs.registry import registry

        if self.job_name or self.task not in registry:
            return self.job_name or self.task
        return registry.get(self.task).label

    @property
    def arguments(self) -> dict:
        """The parameters that were given, as JSON values by name."""
        return loads(self.arguments_json)

    @property
    def reason_arguments(self) -> dict:
        """What the reason is about, such as the message of the error, by name."""
        return json.loads(self.reason_json) if self.reason_json else {}

    @property
    def result(self) -> object:
        """What the function returned, as the type it is annotated with where this process knows the function."""
        if self.result_json is None:
            return None
        from jobs.registry import registry

        value = loads(self.result_json)
        return registry.get(self.task).signature.result_from_json(value) if self.task in registry else value

    @property
    def attempt(self) -> int:
        """The number of the current or next execution, counted from 1."""
        return self.failures + self.losses + self.interruptions + self.snoozes + 1

    @property
    def executions(self) -> int:
        """How often its function was started so far, this time included."""
        is_last_counted = self.state not in (State.RUNNING, State.SUCCEEDED) and self.reason_code not in _BY_FUNCTION
        return self.attempt - 1 if is_last_counted else self.attempt

    @property
    def can_be_cancelled(self) -> bool:
        """Whether it waits, or runs and nobody has asked it to end yet."""
        return self.state in WAITING or (self.state == State.RUNNING and self.cancel_requested_at is None)

    @property
    def is_finished(self) -> bool:
        return self.state in FINAL

    @property
    def reason(self) -> str:
        """Why it is in its state, as a sentence; empty where the state says it all."""
        return sentence(self.reason_code, self.reason_arguments)

    @property
    def public_reason(self) -> str:
        """The reason for those who must not see parameters and results: without the message of an exception."""
        return sentence(self.reason_code, self.reason_arguments, has_values=False)

    def cancel(self, *, actor=None, note: str = ""):
        """See `jobs.lifecycle.cancel`."""
        from jobs.lifecycle import cancel

        return cancel(self, actor=actor, note=note)

    def run_again(self, **how) -> "Run":
        """See `jobs.lifecycle.run_again`."""
        from jobs.lifecycle import run_again

        return run_again(self, **how)

    def wait(self, timeout: float | None = None) -> "Run":
        """See `jobs.lifecycle.wait`."""
        from jobs.lifecycle import wait

        return wait(self, timeout=timeout)
