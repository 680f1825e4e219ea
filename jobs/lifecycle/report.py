"""What running functions tell while they work: progress and log. Fenced like every write of a worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from jobs.core.log import Log
from jobs.core.texts import line, visible
from jobs.lifecycle.claim import ClaimedRun
from jobs.lifecycle.database import FENCE, db_time, is_state, placeholders
from jobs.lifecycle.faults import is_refusal, told

logger = Log("jobs")

MESSAGE_LENGTH = 200

_PROGRESS = (
    "UPDATE jobs_run SET progress_done = %s, progress_total = %s, progress_message = %s, progress_at = %s "
    f"WHERE {FENCE}"
)
_LOG = "INSERT INTO jobs_runlog (run_id, attempt, number, text, written_at) VALUES (%s, %s, %s, %s, %s)"
_STORED_LOG = "SELECT 1 FROM jobs_runlog WHERE run_id = %s AND attempt = %s AND number = %s"


@dataclass(slots=True)
class Report:
    """News of one claimed run since the last report; `number` counts the reports of one execution."""

    run: ClaimedRun
    number: int
    progress: tuple[float, float | None, str] | None = None
    log: str = ""


def write_reports(
    connection, reports: Sequence[Report], now: datetime, *, is_replay: bool = False, one_by_one: bool = False
) -> None:
    """Store news of runs that are still owned under their claims. Needs a transaction, before their outcomes.

    `is_replay`: a commit whose answer was lost may have stored some already. `one_by_one` is the way after a data
    error: each report in a savepoint, and what the database refuses is logged and dropped.
    """
    if not reports:
        return
    write = _write_alone if one_by_one else _write
    owned = _still_owned(connection, [report.run for report in reports])
    with connection.cursor() as cursor:
        for report in reports:
            if report.run.key in owned and not (is_replay and _is_stored(cursor, report)):
                write(connection, cursor, report, db_time(connection, now))


def _write(connection, cursor, report: Report, at) -> None:
    run = report.run
    if report.progress is not None:
        done, total, message = report.progress
        message = line(message, MESSAGE_LENGTH)
        cursor.execute(_PROGRESS, (done, total, message, at, run.id, run.worker_id, run.claim_no))
    if report.log:
        cursor.execute(_LOG, (run.id, run.attempt, report.number, visible(report.log), at))


def _write_alone(connection, cursor, report: Report, at) -> None:
    try:
        with transaction.atomic(using=connection.alias):
            _write(connection, cursor, report, at)
    except Exception as error:
        if not is_refusal(error):
            raise
        logger.error("what run %s told could not be stored and is dropped (%s)", report.run.id, told(error))


def _is_stored(cursor, report: Report) -> bool:
    """Progress may be written twice, a piece of the log may not."""
    cursor.execute(_STORED_LOG, (report.run.id, report.run.attempt, report.number))
    return cursor.fetchone() is not None


def _still_owned(connection, runs: Sequence[ClaimedRun]) -> set[tuple[int, int, int]]:
    ids = [run.id for run in runs]
    wanted = placeholders(len(ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, worker_id, claim_no FROM jobs_run WHERE id IN ({wanted}) AND {is_state('running')}",
            ids,
        )
        return set(cursor.fetchall())
