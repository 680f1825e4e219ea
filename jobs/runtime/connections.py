"""The database connections that task functions leave behind in their threads."""

import re
from contextlib import suppress

from django.db import connections
from django.db.backends.signals import connection_created

from jobs.core.log import Log

logger = Log("jobs")

# What outlives a transaction: settings, locks, temporary tables, listeners.
# White space and comments before it are taken once and for all (*+): to try them in other ways would take for ever.
_statement = re.compile(
    r"(?:\s|/\*.*?\*/|--[^\n]*\n)*+"
    r"(?:SET|USE|PRAGMA|ATTACH|LOCK|FLUSH|LISTEN|PREPARE|DECLARE|RESET|DISCARD|XA|CALL|DO"
    r"|CREATE\s+(?:\w+\s+){0,2}TEMP)",
    re.IGNORECASE | re.DOTALL,
).match
_WORDS = ("set_config", "advisory_lock", "get_lock", "into temp", "pg_temp")


def _changes_session(sql: object) -> bool:
    """Whether a statement may do so. A wrong yes costs a new connection."""
    if not isinstance(sql, str) or _statement(sql):
        return True
    lowered = sql.lower()
    return any(word in lowered for word in _WORDS)


class _Watch:
    """Sees the statements of a connection, and notes whether one of them has changed the session."""

    def __init__(self):
        self.is_changed = False

    def __call__(self, execute, sql, params, many, context):
        if _changes_session(sql):
            self.is_changed = True
        return execute(sql, params, many, context)


def watch() -> None:
    """Before a function: see what it does to this thread's connections."""
    for connection in connections.all():
        if _watch_of(connection) is None:
            connection.execute_wrappers.insert(0, _Watch())


def begin_watching() -> None:
    """Once in a process, when all apps are loaded: what the site's own receivers set in a new session is no change."""
    connection_created.connect(_session_begins, dispatch_uid="jobs.runtime.connections")


def _session_begins(connection, **kwargs) -> None:
    if (found := _watch_of(connection)) is not None:
        found.is_changed = False


def _watch_of(connection) -> _Watch | None:
    return next((wrapper for wrapper in connection.execute_wrappers if isinstance(wrapper, _Watch)), None)


def tidy(*, was_cut_short: bool = False) -> None:
    """Bring this thread's connections back to what the next function may expect.

    One in the middle of a transaction is closed, which rolls back what was not committed, and so is one whose session
    was changed; the others are kept or closed as CONN_MAX_AGE says, like after a request. None is kept of a function
    that was cut short, perhaps in the middle of a statement. The list of queries, which DEBUG keeps, begins anew.
    """
    for connection in connections.all(initialized_only=True):
        connection.force_debug_cursor = False
        connection.queries_log.clear()
        if connection.connection is not None:
            _tidy(connection, was_cut_short)


def _tidy(connection, was_cut_short: bool) -> None:
    try:
        if was_cut_short or _is_in_transaction(connection) or _is_session_changed(connection):
            _abandon(connection)
        else:
            connection.close_if_unusable_or_obsolete()
            _roll_back(connection)
    except Exception:  # closed behind Django's back, or worse: the next function gets a new one
        logger.warning("a run left its connection %r in a state that cannot be mended", connection.alias)
        _forget(connection)


def _is_in_transaction(connection) -> bool:
    if connection.in_atomic_block or not connection.get_autocommit():
        return True
    driver = connection.connection  # the drivers know of a raw BEGIN, without asking the server
    if connection.vendor == "postgresql":
        return driver.info.transaction_status != 0  # psycopg 2 and 3: IDLE
    return bool(getattr(driver, "in_transaction", False))


def _is_session_changed(connection) -> bool:
    found = _watch_of(connection)
    return found is not None and found.is_changed


def _roll_back(connection) -> None:
    """MariaDB's driver does not know of a transaction that a procedure, or a cursor of the driver, has begun."""
    if connection.vendor == "mysql" and connection.connection is not None:
        connection.connection.rollback()


def _abandon(connection) -> None:
    connection.in_atomic_block = False
    connection.savepoint_ids = []
    connection.needs_rollback = False
    connection.run_on_commit = []
    if connection.vendor == "postgresql" and connection.connection is not None:
        connection.connection.close()  # a pool would give it to others as it is
    connection.close()


def _forget(connection) -> None:
    with suppress(Exception):
        _abandon(connection)
    connection.connection = None
