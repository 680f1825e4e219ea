"""The statements that end runs: one for each run, or one for many where a round trip to the server is what costs."""

from collections.abc import Iterator, Sequence

from jobs.lifecycle.database import BY_ID_ON_MARIADB, FENCE, db_time, is_state, placeholders
from jobs.lifecycle.outcome import Outcome

Key = tuple[int, int, int]

_END = (
    "UPDATE jobs_run SET state = %s, reason_code = %s, reason_json = %s, result_json = %s, started_at = %s, "
    f"finished_at = %s, failures = failures + %s, unique_hash = NULL WHERE {FENCE}"
)

# A statement of many is kept well below what a server takes at once (MariaDB: max_allowed_packet, 16 MB).
ROWS, _CHARACTERS = 100, 1_000_000

_COLUMNS = (
    "state", "reason_code", "reason_json", "result_json", "started_at", "finished_at", "failures",
    "id", "worker_id", "claim_no",
)  # fmt: skip
_TYPES = ("text", "text", "text", "text", "timestamp", "timestamp", "integer", "bigint", "bigint", "integer")
_SET = (
    "state = ended.state, reason_code = ended.reason_code, reason_json = ended.reason_json, "
    "result_json = ended.result_json, started_at = ended.started_at, finished_at = ended.finished_at, "
    "failures = jobs_run.failures + ended.failures, unique_hash = NULL"
)
_SAME_CLAIM = (
    f"jobs_run.id = ended.id AND {is_state('running', 'jobs_run')} AND jobs_run.worker_id = ended.worker_id "
    "AND jobs_run.claim_no = ended.claim_no"
)

_END_MANY_ON_POSTGRESQL = (
    f"UPDATE jobs_run SET {_SET} FROM unnest({', '.join(f'%s::{each}[]' for each in _TYPES)}) "
    f"AS ended ({', '.join(_COLUMNS)}) WHERE {_SAME_CLAIM} "
    "RETURNING jobs_run.id, jobs_run.worker_id, jobs_run.claim_no"
)

# MariaDB's UPDATE returns no rows, so they are locked and looked at first. Both statements must find them by their ids,
# whatever the table's size: it would wait for the lock of every other row that it passes.
_LOCK_ON_MARIADB = (
    f"SELECT id, worker_id, claim_no FROM {BY_ID_ON_MARIADB} WHERE id IN ({{ids}}) AND {is_state('running')}"
)
_FIRST_ON_MARIADB = f"SELECT {', '.join(f'%s AS {column}' for column in _COLUMNS)}"
_NEXT_ON_MARIADB = f" UNION ALL SELECT {placeholders(len(_COLUMNS))}"
_SET_ON_MARIADB = ", ".join(f"jobs_run.{each}" for each in _SET.split(", "))
_END_MANY_ON_MARIADB = (
    f"UPDATE ({{ended}}) AS ended STRAIGHT_JOIN {BY_ID_ON_MARIADB} ON {_SAME_CLAIM} SET {_SET_ON_MARIADB}"
)


def write_ends(connection, outcomes: Sequence[Outcome]) -> set[Key]:
    """Write the ends of runs that are still owned under their claims, and return these claims. Needs a transaction."""
    write_many = _WAYS.get(connection.vendor)
    with connection.cursor() as cursor:
        if write_many is None or len(outcomes) < 2:
            return {each.run.key for each in outcomes if _write_one(connection, cursor, each)}
        owned = set()
        for portion in _portions(outcomes):
            owned |= write_many(cursor, portion, [_values(connection, each) for each in portion])
        return owned


def _portions(outcomes: Sequence[Outcome]) -> Iterator[list[Outcome]]:
    portion, characters = [], 0
    for outcome in outcomes:
        length = len(outcome.result_json or "")
        if portion and (len(portion) >= ROWS or characters + length > _CHARACTERS):
            yield portion
            portion, characters = [], 0
        portion.append(outcome)
        characters += length
    if portion:
        yield portion


def _write_one(connection, cursor, outcome: Outcome) -> bool:
    cursor.execute(_END, _values(connection, outcome))
    return cursor.rowcount == 1


def _values(connection, outcome: Outcome) -> tuple:
    return (
        outcome.state.value,
        outcome.reason.value,
        outcome.reason_json,
        outcome.result_json,
        db_time(connection, outcome.started_at),
        db_time(connection, outcome.ended_at),
        0 if outcome.failure is None else 1,
        outcome.run.id,
        outcome.run.worker_id,
        outcome.run.claim_no,
    )


def _write_many_on_postgresql(cursor, outcomes: Sequence[Outcome], values: list[tuple]) -> set[Key]:
    cursor.execute(_END_MANY_ON_POSTGRESQL, [list(column) for column in zip(*values, strict=True)])
    return set(cursor.fetchall())


def _write_many_on_mariadb(cursor, outcomes: Sequence[Outcome], values: list[tuple]) -> set[Key]:
    ids = [outcome.run.id for outcome in outcomes]
    cursor.execute(_LOCK_ON_MARIADB.format(ids=placeholders(len(ids))) + " FOR UPDATE", ids)
    locked = set(cursor.fetchall())
    owned = [(outcome, each) for outcome, each in zip(outcomes, values, strict=True) if outcome.run.key in locked]
    if owned:
        ended = _FIRST_ON_MARIADB + _NEXT_ON_MARIADB * (len(owned) - 1)
        cursor.execute(_END_MANY_ON_MARIADB.format(ended=ended), [value for _, each in owned for value in each])
    return {outcome.run.key for outcome, _ in owned}


# On SQLite a statement costs no round trip: one for each run is quicker there.
_WAYS = {"postgresql": _write_many_on_postgresql, "mysql": _write_many_on_mariadb}
