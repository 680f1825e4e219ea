"""Writing executions that did not succeed and are followed by another one: retries and snoozes."""

from collections.abc import Sequence

from jobs.conf import get_settings
from jobs.core.order import order_key
from jobs.lifecycle.database import FENCE, db_time
from jobs.lifecycle.ends import Key
from jobs.lifecycle.outcome import Outcome

# A run that somebody has asked to end is not tried again.
_REPEAT = (
    "UPDATE jobs_run SET state = 'scheduled', reason_code = %s, reason_json = %s, due_at = %s, ready_at = %s, "
    "order_key = %s, started_at = NULL, worker_id = NULL, failures = failures + %s, snoozes = snoozes + %s, "
    "progress_done = NULL, progress_total = NULL, progress_message = '', progress_at = NULL "
    f"WHERE {FENCE} AND cancel_requested_at IS NULL"
)


def write_repetitions(connection, outcomes: Sequence[Outcome]) -> set[Key]:
    """Have these runs wait for their next try, and return the claims of those that are still owned under them and that
    nobody has asked to end. Needs a transaction. A run keeps its priority, and counts as ready from its new time on."""
    with connection.cursor() as cursor:
        return {outcome.run.key for outcome in outcomes if _write(connection, cursor, outcome)}


def _write(connection, cursor, outcome: Outcome) -> bool:
    run, due_at = outcome.run, outcome.due_at
    due = db_time(connection, due_at)
    is_failure = outcome.failure is not None
    key = order_key(run.effective_priority, due_at, get_settings().ageing)
    counts = int(is_failure), int(not is_failure)
    claim = run.id, run.worker_id, run.claim_no
    cursor.execute(_REPEAT, (outcome.reason.value, outcome.reason_json, due, due, key, *counts, *claim))
    return cursor.rowcount == 1
