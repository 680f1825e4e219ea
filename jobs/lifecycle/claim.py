"""Taking runs: the best ones of all served queues, in exact order, each by one worker."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.core import clock
from jobs.core.states import Reason
from jobs.lifecycle.best import best_waiting
from jobs.lifecycle.database import FENCE, by_claim_index, by_id, db_time, is_state, placeholders, skip_locked
from jobs.lifecycle.free import take_free
from jobs.lifecycle.notify import ANYBODY, notify

_COLUMNS = (
    "id, task, arguments_json, order_key, claim_no, failures, losses, interruptions, snoozes, effective_priority, "
    "max_attempts, timeout_seconds, options_json, executor"
)
_LOCK = f"SELECT {_COLUMNS} FROM {{runs}} WHERE id IN ({{ids}}) AND {is_state('queued')}"
_CLAIMED = (
    "state = 'running', worker_id = %s, claim_no = claim_no + 1, started_at = %s, reason_code = '', reason_json = NULL"
)
_TAKE = f"UPDATE {{runs}} SET {_CLAIMED} WHERE id IN ({{ids}})"
# PostgreSQL does both in one statement, which saves a round trip.
_LOCK_AND_TAKE = (
    f"WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs_run WHERE id IN ({{ids}}) AND {is_state('queued')} "
    f"FOR UPDATE SKIP LOCKED) UPDATE jobs_run SET {_CLAIMED} FROM free WHERE id = free_id RETURNING {_COLUMNS}"
)

_ASKED = "SELECT id FROM {runs} WHERE state = 'running' AND worker_id = %s AND cancel_requested_at IS NOT NULL"


@dataclass(slots=True)
class ClaimedRun:
    """A run that a worker owns: what is needed to execute it, to order it, and to write its outcome under the fence."""

    id: int
    task: str
    arguments_json: str
    order_key: int
    claim_no: int
    failures: int
    losses: int
    interruptions: int
    snoozes: int
    effective_priority: int
    max_attempts: int
    timeout_seconds: float | None
    options_json: str | None
    executor: str
    worker_id: int

    @property
    def key(self) -> tuple[int, int, int]:
        """This claim, and no other one of the same run."""
        return self.id, self.worker_id, self.claim_no

    @property
    def attempt(self) -> int:
        return self.failures + self.losses + self.interruptions + self.snoozes + 1


def claim(
    connection,
    *,
    worker_id: int,
    limit: int,
    now: datetime,
    queues: Sequence[str] | None = None,
    paused: Collection[str] = (),
) -> list[ClaimedRun]:
    """Make the `limit` most urgent queued runs the worker's own and return them, best first. Needs a transaction."""
    claimed = take_free(
        limit,
        lambda count: [run_id for _, run_id in best_waiting(connection, count, queues, paused)],
        lambda run_ids: _take(connection, run_ids, worker_id, now),
    )
    return _in_order(claimed)


def _in_order(runs: Iterable[ClaimedRun]) -> list[ClaimedRun]:
    return sorted(runs, key=lambda run: (run.order_key, run.id))


def _take(connection, run_ids: list[int], worker_id: int, now: datetime) -> list[ClaimedRun]:
    if not run_ids:
        return []
    ids, values = placeholders(len(run_ids)), (worker_id, db_time(connection, now))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_LOCK_AND_TAKE.format(ids=ids), (*run_ids, *values))
            return [ClaimedRun(*row, worker_id) for row in cursor.fetchall()]
        table = by_id(connection)
        cursor.execute(_LOCK.format(runs=table, ids=ids) + skip_locked(connection), run_ids)
        runs = [ClaimedRun(*row, worker_id) for row in cursor.fetchall()]
        if runs:
            locked = [run.id for run in runs]
            cursor.execute(_TAKE.format(runs=table, ids=placeholders(len(locked))), (*values, *locked))
    for run in runs:
        run.claim_no += 1  # as the UPDATE has just done in the row
    return runs


def owned_by(connection, worker_id: int) -> list[ClaimedRun]:
    """The runs that the database says this worker owns: the truth after a commit whose answer was lost."""
    with connection.cursor() as cursor:
        table = by_claim_index(connection)
        cursor.execute(f"SELECT {_COLUMNS} FROM {table} WHERE state = 'running' AND worker_id = %s", (worker_id,))
        return _in_order(ClaimedRun(*row, worker_id) for row in cursor.fetchall())


def asked_to_end(connection, worker_id: int) -> set[int]:
    """Those of the runs that a worker executes that somebody has asked to end."""
    with connection.cursor() as cursor:
        cursor.execute(_ASKED.format(runs=by_claim_index(connection)), (worker_id,))
        return {row[0] for row in cursor.fetchall()}


def running(connection) -> dict[int, int | None]:
    """Who owns each running run: worker by run. They are few, whatever the history's size."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, worker_id FROM {by_claim_index(connection)} WHERE state = 'running'")
        return dict(cursor.fetchall())


_RELEASE = (
    "UPDATE jobs_run SET state = 'queued', worker_id = NULL, started_at = NULL "
    f"WHERE {FENCE} AND cancel_requested_at IS NULL"
)
_CANCEL = (
    f"UPDATE jobs_run SET state = 'cancelled', reason_code = '{Reason.CANCELLED_BY_REQUEST}', started_at = NULL, "
    f"finished_at = %s, unique_hash = NULL WHERE {FENCE}"
)


def release(connection, runs: Collection[ClaimedRun]) -> list[int]:
    """Give claimed runs that have not started back to their queue, where they keep their place. Those that somebody
    has asked to end meanwhile are cancelled; returns their ids."""
    cancelled = []
    with connection.cursor() as cursor:
        for run in runs:
            claim = run.id, run.worker_id, run.claim_no
            cursor.execute(_RELEASE, claim)
            if cursor.rowcount:
                notify(connection, ANYBODY)
                continue
            cursor.execute(_CANCEL, (db_time(connection, clock.now()), *claim))
            if cursor.rowcount:
                cancelled.append(run.id)
    return cancelled
