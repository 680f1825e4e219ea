"""Processes that stand still: stopped by a signal, as a host or a container is that somebody pauses."""

import signal
import sqlite3
import time
from pathlib import Path

from django.db import DatabaseError, connection, transaction

from jobs.models import Run, Worker
from tests.processes.support import PATIENCE, Process
from tests.runtime.support import wait_until


def freeze(process: Process) -> None:
    """Stop it, but not in the middle of a transaction: what it has locked then stays locked."""
    for _ in range(100):
        process.send(signal.SIGSTOP)
        wait_until(lambda: is_stopped(process), PATIENCE)
        if _holds_nothing(process):
            return
        process.send(signal.SIGCONT)
    raise AssertionError("it is always writing")


def thaw(process: Process) -> None:
    process.send(signal.SIGCONT)


def is_stopped(process: Process) -> bool:
    """Whether all its threads stand still: a signal takes effect later than its sender goes on."""
    stats = Path(f"/proc/{process.pid}/task").glob("*/stat")
    return {stat.read_text().rpartition(")")[2].split()[0] for stat in stats} == {"T"}


def _holds_nothing(process: Process) -> bool:
    try:
        if connection.vendor == "sqlite":
            _take_the_lock()
        else:
            _lock_its_rows(process)
            time.sleep(0.1)  # a server carries out what was sent to it just before
            _lock_its_rows(process)
    except (DatabaseError, sqlite3.OperationalError):
        return False
    return True


def _take_the_lock() -> None:
    other = sqlite3.connect(connection.settings_dict["NAME"], timeout=1.0, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    finally:
        other.close()


def _lock_its_rows(process: Process) -> None:
    with transaction.atomic():
        workers = Worker.objects.select_for_update(nowait=True).filter(pid=process.pid)
        ids = [worker.pk for worker in workers]
        list(Run.objects.select_for_update(nowait=True).filter(worker_id__in=ids, state="running"))
