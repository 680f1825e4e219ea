"""What running functions tell while they work: progress and log. Fenced like every write of a worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.lifecycle.claim import ClaimedRun
from jobs.lifecycle.database import db_time, placeholders
from jobs.lifecycle.finish import FENCE

_PROGRESS = (
    "UPDATE jobs_run SET progress_done = %s, progress_total = %s, progress_message = %s, progress_at = %s "
    f"WHERE {FENCE}"
)
_LOG = "INSERT INTO jobs_runlog (run_id, attempt, text, written_at) VALUES (%s, %s, %s, %s)"


@dataclass(slots=True)
class Report:
    """News of one claimed run since the last report."""

    run: ClaimedRun
    progress: tuple[float | None, float | None, str] | None = None
    log: str = ""


def write_reports(connection, reports: Sequence[Report], now: datetime) -> None:
    """Store news of runs that are still owned under their claims. Needs a transaction, before their outcomes."""
    if not reports:
        return
    at = db_time(connection, now)
    owned = _still_owned(connection, [report.run for report in reports])
    with connection.cursor() as cursor:
        for report in reports:
            run = report.run
            if (run.id, run.worker_id, run.claim_no) not in owned:
                continue
            if report.progress is not None:
                cursor.execute(_PROGRESS, (*report.progress, at, run.id, run.worker_id, run.claim_no))
            if report.log:
                cursor.execute(_LOG, (run.id, run.attempt, report.log, at))


def _still_owned(connection, runs: Sequence[ClaimedRun]) -> set[tuple[int, int, int]]:
    ids = [run.id for run in runs]
    wanted = placeholders(len(ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, worker_id, claim_no FROM jobs_run WHERE state = 'running' AND id IN ({wanted})",
            ids,
        )
        return set(cursor.fetchall())
