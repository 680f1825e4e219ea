"""The Django admin: definitions are edited, history is looked at, and changes go through named actions."""

from jobs.admin.audit import AuditEntryAdmin
from jobs.admin.job import JobAdmin
from jobs.admin.queue import QueueAdmin
from jobs.admin.run import RunAdmin
from jobs.admin.schedule import ScheduleAdmin
from jobs.admin.worker import WorkerAdmin

__all__ = ["AuditEntryAdmin", "JobAdmin", "QueueAdmin", "RunAdmin", "ScheduleAdmin", "WorkerAdmin"]
