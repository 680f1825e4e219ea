"""The tables of the app. Rows are changed through `jobs.lifecycle`."""

from jobs.models.attempt import Attempt, RunLog
from jobs.models.audit import AuditEntry
from jobs.models.job import EdgeRule, Job, JobDependency
from jobs.models.run import Run
from jobs.models.schedule import Schedule
from jobs.models.worker import Limit, Queue, SiteState, Worker
from jobs.models.workflow import RunDependency, Workflow

__all__ = [
    "Attempt",
    "AuditEntry",
    "EdgeRule",
    "Job",
    "JobDependency",
    "Limit",
    "Queue",
    "Run",
    "RunDependency",
    "RunLog",
    "Schedule",
    "SiteState",
    "Worker",
    "Workflow",
]
