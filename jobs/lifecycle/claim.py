"""Taking runs: the best ones of all served queues, in exact order, each by one worker."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.lifecycle.database import db_time, is_state, placeholders, skip_locked

# All of this is read inside the claim's index range; nothing is filtered after a LIMIT.
_BEST_OF_QUEUE = (
    "SELECT order_key, id FROM jobs_run WHERE state = 'queued' AND queue = %s ORDER BY order_key, id LIMIT %s"
)
_BEST_AFTER_QUEUE = (
    "SELECT queue, order_key, id FROM jobs_run WHERE state = 'queued' AND queue > %s "
    "ORDER BY queue, order_key, id LIMIT %s"
)
_COLUMNS = "id, task, arguments_json, order_key, claim_no, failures, losses, interruptions, snoozes"
_LOCK = f"SELECT {_COLUMNS} FROM jobs_run WHERE id IN ({{ids}}) AND {is_state('queued')}"
_TAKE = (
    "UPDATE jobs_run SET state = 'running', worker_id = %s, claim_no = claim_no + 1, started_at = %s, "
    "reason_code = '', reason_json = NULL WHERE id IN ({ids})"
)


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
    worker_id: int

    @property
    def key(self) -> tuple[int, int, int]:
        """This claim, and no other one of the same run."""
        return self.id, self.worker_id, self.claim_no

    @property
    def attempt(self) -> int:
        return self.failures + self.losses + self.interruptions + self.snoozes + 1


def best_waiting(
    connection, limit: int, queues: Sequence[str] | None, paused: Collection[str] = ()
) -> list[tuple[int, int]]:
    """(order_key, id) of the `limit` most urgent queued runs, best first, over the served queues that are not paused.

    `queues` None means all. Reads at most `limit` index entries of each queue, however many rows there are.
    """
    with connection.cursor() as cursor:
        if queues is None:
            found = _scan_all_queues(cursor, limit, paused)
        else:
            found = []
            for queue in queues:
                if queue not in paused:
                    cursor.execute(_BEST_OF_QUEUE, (queue, limit))
                    found += cursor.fetchall()
    return sorted(found)[:limit]


def _scan_all_queues(cursor, limit: int, paused: Collection[str]) -> list[tuple[int, int]]:
    """Walk the claim index queue by queue. A page that ends inside its second or a later queue is cut at that queue."""
    found, after = [], ""
    while True:
        cursor.execute(_BEST_AFTER_QUEUE, (after, limit))
        page = cursor.fetchall()
        is_last_page = len(page) < limit
        if page and not is_last_page and page[0][0] != page[-1][0]:
            cut = page[-1][0]
            page = [row for row in page if row[0] != cut]
        found += [(key, run_id) for queue, key, run_id in page if queue not in paused]
        if is_last_page:
            return found
        after = page[-1][0]


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
    claimed: list[ClaimedRun] = []
    seen: set[int] = set()
    while len(claimed) < limit:
        short = limit - len(claimed)
        best = best_waiting(connection, short + len(seen), queues, paused)
        wanted = [run_id for _, run_id in best if run_id not in seen][:short]
        claimed += _take(connection, wanted, worker_id, now)
        seen.update(wanted)
        if len(wanted) < short or len(claimed) == limit:
            break  # there are no more; else some were locked by others, and the next best are tried
    claimed.sort(key=lambda run: (run.order_key, run.id))
    return claimed


def _take(connection, run_ids: list[int], worker_id: int, now: datetime) -> list[ClaimedRun]:
    if not run_ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_LOCK.format(ids=placeholders(len(run_ids))) + skip_locked(connection), run_ids)
        runs = [ClaimedRun(*row, worker_id) for row in cursor.fetchall()]
        if runs:
            locked = [run.id for run in runs]
            cursor.execute(_TAKE.format(ids=placeholders(len(locked))), (worker_id, db_time(connection, now), *locked))
    for run in runs:
        run.claim_no += 1  # as the UPDATE has just done in the row
    return runs


def owned_by(connection, worker_id: int) -> list[ClaimedRun]:
    """The runs that the database says this worker owns: the truth after a commit whose answer was lost."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_COLUMNS} FROM jobs_run WHERE state = 'running' AND worker_id = %s ORDER BY order_key, id",
            (worker_id,),
        )
        return [ClaimedRun(*row, worker_id) for row in cursor.fetchall()]


_RELEASE = (
    "UPDATE jobs_run SET state = 'queued', worker_id = NULL, started_at = NULL "
    "WHERE id = %s AND state = 'running' AND worker_id = %s AND claim_no = %s"
)


def release(connection, runs: Collection[ClaimedRun]) -> None:
    """Give claimed runs that have not started back to their queue, where they keep their place."""
    with connection.cursor() as cursor:
        for run in runs:
            cursor.execute(_RELEASE, (run.id, run.worker_id, run.claim_no))
