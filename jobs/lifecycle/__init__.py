"""The only code that changes a run's state. Everything here needs the app registry to be ready."""

from jobs.lifecycle.cancel import CancelAnswer, cancel
from jobs.lifecycle.definitions import set_enabled
from jobs.lifecycle.enqueue import JobDisabled, enqueue, enqueue_job, enqueue_many
from jobs.lifecycle.queues import known_queues, pause, resume
from jobs.lifecycle.rerun import NotFinished, run_again
from jobs.lifecycle.schedules import (
    backfill,
    delete_schedule,
    open_slots,
    save_schedule,
    set_schedule_enabled,
    slots_between,
)
from jobs.lifecycle.waiting import NoFreeThread, WaitInTransaction, wait

__all__ = [
    "CancelAnswer",
    "JobDisabled",
    "NoFreeThread",
    "NotFinished",
    "WaitInTransaction",
    "backfill",
    "cancel",
    "delete_schedule",
    "enqueue",
    "enqueue_job",
    "enqueue_many",
    "known_queues",
    "open_slots",
    "pause",
    "resume",
    "run_again",
    "save_schedule",
    "set_enabled",
    "set_schedule_enabled",
    "slots_between",
    "wait",
]
