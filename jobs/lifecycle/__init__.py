"""The only code that changes a run's state. Everything here needs the app registry to be ready."""

from jobs.lifecycle.cancel import CancelAnswer, cancel
from jobs.lifecycle.enqueue import JobDisabled, enqueue, enqueue_job, enqueue_many
from jobs.lifecycle.rerun import NotFinished, run_again
from jobs.lifecycle.waiting import WaitInTransaction, wait

__all__ = [
    "CancelAnswer",
    "JobDisabled",
    "NotFinished",
    "WaitInTransaction",
    "cancel",
    "enqueue",
    "enqueue_job",
    "enqueue_many",
    "run_again",
    "wait",
]
