"""The Django admin: definitions are edited, history is looked at, and changes go through named actions."""

from jobs.admin.audit import AuditEntryAdmin
from jobs.admin.job import JobAdmin
from jobs.admin.run import RunAdmin
from jobs.admin.worker import WorkerAdmin

__all__ = ["AuditEntryAdmin", "JobAdmin", "RunAdmin", "WorkerAdmin"]
