"""Writing how executions ended. Every write is fenced: it changes the row only while this claim still owns it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction

from jobs.core.log import Log
from jobs.lifecycle.ends import ROWS, Key, write_ends
from jobs.lifecycle.faults import is_lock_timeout, is_refusal, told
from jobs.lifecycle.outcome import Failure, Outcome
from jobs.lifecycle.repeat import write_repetitions
from jobs.lifecycle.rescue import lose
from jobs.lifecycle.workers import name_of
from jobs.models import Attempt

logger = Log("jobs")


@dataclass(slots=True)
class Finished:
    """Which outcomes were stored, and which wait because somebody else has locked their rows. The rest is dropped.

    `cancelled` are runs that were given back unstarted and that somebody had asked to end.
    """

    stored: list[Outcome] = field(default_factory=list)
    locked: list[Outcome] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)


def finish(connection, outcomes: Sequence[Outcome], *, one_by_one: bool = False) -> Finished:
    """Write outcomes and tell which were stored. Needs a transaction.

    An outcome whose run is no longer owned under its claim is logged and dropped. `one_by_one` is the way after an
    error that one row has caused: each outcome in a savepoint, one that still fails is stored without what the database
    refused, and one whose row is locked is left for later.
    """
    finished = Finished()
    if one_by_one:
        for outcome in outcomes:
            _write_alone(connection, outcome, finished)
    else:
        finished.stored = _write(connection, outcomes)
    return finished


def _write(connection, outcomes: Sequence[Outcome]) -> list[Outcome]:
    first = {outcome.run.key: outcome for outcome in reversed(outcomes)}  # of two for one claim the first one counts
    owned = _write_all(connection, list(reversed(first.values())))
    stored, dropped = [], []
    for outcome in outcomes:
        is_stored = outcome.run.key in owned and first[outcome.run.key] is outcome
        (stored if is_stored else dropped).append(outcome)
    for outcome in dropped:
        logger.warning("run %s is no longer this worker's (claim %s): its outcome %s is dropped",
                       outcome.run.id, outcome.run.claim_no, outcome.state)  # fmt: skip
    _record_attempts(connection, [each for each in stored if each.attempt_outcome and not each.is_lost])
    return stored


def _write_all(connection, outcomes: Sequence[Outcome]) -> set[Key]:
    """Write ends, and what is tried again, and return the claims that were still this worker's."""
    lost = {outcome.run.key for outcome in outcomes if outcome.is_lost and lose(connection, outcome)}
    again = [outcome for outcome in outcomes if outcome.pause is not None]
    repeated = write_repetitions(connection, again) if again else set()
    for outcome in again:
        if outcome.run.key not in repeated:
            outcome.end_instead()
    ends = [outcome for outcome in outcomes if outcome.pause is None and not outcome.is_lost]
    return lost | repeated | write_ends(connection, ends)


def _write_alone(connection, outcome: Outcome, finished: Finished) -> None:
    try:
        finished.stored += _write_in_savepoint(connection, outcome)
    except Exception as error:
        if is_lock_timeout(error):
            finished.locked.append(outcome)
        elif is_refusal(error):
            logger.error("the outcome of run %s could not be stored whole (%s)", outcome.run.id, told(error))
            _write_bare(connection, outcome, finished, type(error).__name__)
        else:
            raise


def _write_bare(connection, outcome: Outcome, finished: Finished, problem: str) -> None:
    """Store the end without what the database may have refused."""
    outcome.without_text(f"the database refused it ({problem})")
    try:
        finished.stored += _write_in_savepoint(connection, outcome)
    except Exception as error:
        if not is_refusal(error):
            raise
        logger.error(
            "the end of run %s cannot be stored (%s): it shows as running until its worker ends",
            outcome.run.id,
            told(error),
        )


def _write_in_savepoint(connection, outcome: Outcome) -> list[Outcome]:
    with transaction.atomic(using=connection.alias):
        return _write(connection, [outcome])


def _record_attempts(connection, outcomes: Sequence[Outcome]) -> None:
    if not outcomes:
        return
    worker_name = name_of(connection, outcomes[0].run.worker_id)
    attempts = [_attempt(outcome, worker_name) for outcome in outcomes]
    Attempt.objects.using(connection.alias).bulk_create(attempts, batch_size=ROWS)


def _attempt(outcome: Outcome, worker_name: str) -> Attempt:
    run, failure = outcome.run, outcome.failure or Failure("", outcome.said)
    return Attempt(
        run_id=run.id,
        number=run.attempt,
        outcome=outcome.attempt_outcome,
        error_class=failure.error_class,
        message=failure.message,
        traceback=failure.traceback,
        worker_id=run.worker_id,
        worker_name=worker_name,
        started_at=outcome.started_at,
        ended_at=outcome.ended_at,
    )
