"""Where the app's tables live, and what the databases differ in for all who speak SQL to them."""

from collections.abc import Collection
from contextlib import contextmanager
from datetime import UTC, datetime

from django.db import connections, router, transaction

from jobs.conf import get_settings
from jobs.models import Run

LONGEST_LOCK_SECONDS = 2.0

_BY_IDS = "SELECT id FROM {table} WHERE id IN ({ids})"

# PostgreSQL: rows come in the order of an index, as far as they are asked for. Without statistics, or with a bitmap of
# what a history has left behind, it would read all that are ready or due and sort them. A plan that is switched off so
# counts as immensely costly where there is no other: worth a compiler, which takes a tenth of a second for a few rows.
BY_INDEX = (
    "SET LOCAL enable_sort = off",
    "SET LOCAL enable_bitmapscan = off",
    "SET LOCAL enable_seqscan = off",
    "SET LOCAL jit = off",
)


def alias() -> str:
    """The name of the database that holds the runs."""
    return router.db_for_write(Run)


def connection():
    """This thread's connection to it."""
    return connections[alias()]


def db_time(connection, moment: datetime | None):
    """`moment` (aware) as a parameter of raw SQL: what UTCDateTimeField stores."""
    if moment is None:
        return None
    return connection.ops.adapt_datetimefield_value(moment.astimezone(UTC).replace(tzinfo=None))


def moment_of(value: datetime | str) -> datetime:
    """The inverse: what raw SQL gives for a column of moments."""
    return (datetime.fromisoformat(value) if isinstance(value, str) else value).replace(tzinfo=UTC)


def lock_seconds() -> float:
    """How long a dispatcher waits for somebody else's lock. Its signs of life wait with it."""
    return min(LONGEST_LOCK_SECONDS, _lost_after() / 6)


def _lost_after() -> float:
    """So long a session may stand still in the middle of a transaction: then its worker counts as dead anyway."""
    return get_settings().LOST_AFTER_SECONDS


@contextmanager
def short_transaction():
    """A transaction of a dispatcher, with its connection: it sees what others have committed meanwhile, does not wait
    long for the lock of a row, and keeps its own locks no longer than it counts as alive (on MariaDB by
    `begin_session`). Inside the caller's transaction, as in a TestCase, the caller's rules stay."""
    db = connection()
    has_own_rules = db.vendor == "postgresql" and not db.in_atomic_block
    with transaction.atomic(using=db.alias):
        if has_own_rules:  # not for the session: a pooler may hand that to somebody else
            _set_rules(db)
        yield db


def _set_rules(db) -> None:
    statements = (
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        f"SET LOCAL lock_timeout = {_milliseconds(lock_seconds())}",
        f"SET LOCAL idle_in_transaction_session_timeout = {_milliseconds(_lost_after())}",
        *BY_INDEX,
    )
    # One round trip for all; but what the driver prepares must be a single command.
    prepares = db.settings_dict["OPTIONS"].get("prepare_threshold") is not None
    with db.cursor() as cursor:
        for statement in statements if prepares else ["; ".join(statements)]:
            cursor.execute(statement)


def _milliseconds(seconds: float) -> int:
    return max(1, round(1000 * seconds))  # 0 would be no limit


@contextmanager
def short_look():
    """A dispatcher's connection for single reads outside of its transaction, which wait no longer for a lock than that
    does."""
    if connection().vendor == "postgresql":
        with short_transaction() as db:
            yield db
    else:
        yield connection()


def begin_session(connection) -> None:
    """What a new connection of a dispatcher's thread needs before its first transaction."""
    if connection.vendor == "sqlite":  # whatever the site does: SQLite waits for no lock in a transaction that has read
        connection.transaction_mode = "IMMEDIATE"
    if connection.vendor == "mysql":  # MariaDB knows these for a session only
        seconds = max(1, round(lock_seconds()))
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}")
            cursor.execute(f"SET SESSION idle_transaction_timeout = {max(1, round(_lost_after()))}")
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")


def locked_by_others(connection, run_ids: Collection[int]) -> set[int]:
    """Lock these runs without waiting, and return those that somebody else has locked. On SQLite nobody has."""
    if not run_ids or not connection.features.has_select_for_update:
        return set()
    missing = set(run_ids) - set(lock_free(connection, "jobs_run", run_ids))
    if not missing:
        return missing
    with connection.cursor() as cursor:
        cursor.execute(_BY_IDS.format(table="jobs_run", ids=placeholders(len(missing))), list(missing))
        return {row[0] for row in cursor.fetchall()}  # the others are no rows any more


def skip_locked(connection) -> str:
    """The clause that locks the selected rows. SQLite needs none: BEGIN IMMEDIATE is the lock."""
    if not connection.features.has_select_for_update:
        return ""
    return " " + connection.ops.for_update_sql(skip_locked=True)


def is_state(state: str, table: str = "") -> str:
    """A condition on the state of rows that are found by their ids. Written so that no index serves it: SQLite would
    prefer an index that begins with the state, and walk through every row that has it."""
    column = f"{table}.state" if table else "state"
    return f"COALESCE({column}, '') = '{state}'"


# A write by the worker that owns a run under this claim, and by nobody else. Found by the id: MariaDB would lock an
# index of the state before the row, where others lock the row first: a deadlock.
FENCE = f"id = %s AND {is_state('running')} AND worker_id = %s AND claim_no = %s"


def hidden(state: str) -> str:
    """A state that the planner is not told. Told, PostgreSQL asks its statistics how many rows there are in that state,
    and while they are those of another time, as in a burst, it may read them all and sort them to give the first."""
    return f"(SELECT '{state}')"


BY_ID_ON_MARIADB = "jobs_run FORCE INDEX (PRIMARY)"


def by_id(connection, table: str = "jobs_run") -> str:
    """A table, to be read by its ids. MariaDB must be told: in a small table it would go through all rows, and lock
    them all."""
    return f"{table} FORCE INDEX (PRIMARY)" if connection.vendor == "mysql" else table


def lock_free(connection, table: str, ids: Collection[int]) -> list[int]:
    """Lock those of these rows that nobody else has locked, and return their ids. Needs a transaction."""
    if not ids:
        return []
    with connection.cursor() as cursor:
        query = _BY_IDS.format(table=by_id(connection, table), ids=placeholders(len(ids)))
        cursor.execute(query + skip_locked(connection), list(ids))
        return [row[0] for row in cursor.fetchall()]


def by_claim_index(connection) -> str:
    """The table of the runs, to be read by its claim index. SQLite must be told: with statistics of a time when all
    runs were in one state it would look for the few running ones in the whole table."""
    return "jobs_run INDEXED BY jobs_run_claim" if connection.vendor == "sqlite" else "jobs_run"


def placeholders(count: int) -> str:
    return ", ".join(["%s"] * count)
