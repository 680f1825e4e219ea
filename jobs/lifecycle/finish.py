"""Writing how executions ended. Every write is fenced: it changes the row only while this claim still owns it."""

from collections.abc import Sequence

from django.db import transaction

from jobs.core.log import Log
from jobs.lifecycle.database import REFUSALS, db_time
from jobs.lifecycle.outcome import Failure, Outcome
from jobs.lifecycle.workers import name_of
from jobs.models import Attempt

logger = Log("jobs")

FENCE = "id = %s AND state = 'running' AND worker_id = %s AND claim_no = %s"

_FINISH = (
    "UPDATE jobs_run SET state = %s, reason_code = %s, reason_json = %s, result_json = %s, started_at = %s, "
    f"finished_at = %s, failures = failures + %s, unique_hash = NULL WHERE {FENCE}"
)


def finish(connection, outcomes: Sequence[Outcome], *, one_by_one: bool = False) -> list[Outcome]:
    """Write outcomes and return those that were stored. Needs a transaction.

    An outcome whose run is no longer owned under its claim is logged and dropped. `one_by_one` is the way after a data
    error: each outcome in a savepoint, and one that still fails is stored without what the database refused.
    """
    write = _write_alone if one_by_one else _write
    stored = []
    with connection.cursor() as cursor:
        for outcome in outcomes:
            is_written = write(connection, cursor, outcome)
            if is_written:
                stored.append(outcome)
            elif is_written is False:
                logger.warning("run %s is no longer this worker's (claim %s): its outcome %s is dropped",
                               outcome.run.id, outcome.run.claim_no, outcome.state)  # fmt: skip
    return stored


def _write(connection, cursor, outcome: Outcome) -> bool:
    run = outcome.run
    cursor.execute(
        _FINISH,
        (
            outcome.state.value,
            outcome.reason.value,
            outcome.reason_json,
            outcome.result_json,
            db_time(connection, outcome.started_at),
            db_time(connection, outcome.ended_at),
            0 if outcome.failure is None else 1,
            run.id,
            run.worker_id,
            run.claim_no,
        ),
    )
    if cursor.rowcount != 1:
        return False
    if outcome.failure is not None:
        _attempt(connection, outcome)
    return True


def _write_alone(connection, cursor, outcome: Outcome) -> bool | None:
    """As `_write`; None if the database refuses even the bare end of the run."""
    try:
        return _write_in_savepoint(connection, cursor, outcome)
    except REFUSALS as error:
        logger.exception("the outcome of run %s could not be stored whole", outcome.run.id)
        outcome.without_result(f"the database refused it ({type(error).__name__})")
        outcome.failure = outcome.failure and Failure(outcome.failure.error_class, "")
    try:
        return _write_in_savepoint(connection, cursor, outcome)
    except REFUSALS:
        logger.exception(
            "the end of run %s cannot be stored: it shows as running until its worker ends", outcome.run.id
        )
        return None


def _write_in_savepoint(connection, cursor, outcome: Outcome) -> bool:
    with transaction.atomic(using=connection.alias):
        return _write(connection, cursor, outcome)


def _attempt(connection, outcome: Outcome) -> None:
    run, failure = outcome.run, outcome.failure
    Attempt.objects.using(connection.alias).create(
        run_id=run.id,
        number=run.attempt,
        outcome=Attempt.Outcome.FAILED,
        error_class=failure.error_class,
        message=failure.message,
        traceback=failure.traceback,
        worker_id=run.worker_id,
        worker_name=name_of(connection, run.worker_id),
        started_at=outcome.started_at,
        ended_at=outcome.ended_at,
    )
