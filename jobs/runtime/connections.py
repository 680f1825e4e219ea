"""The database connections that task functions leave behind in their threads."""

from contextlib import suppress

from django.db import connections

from jobs.core.log import Log

logger = Log("jobs")


def tidy() -> None:
    """Bring this thread's connections back to what the next function may expect.

    One in the middle of a transaction is closed, which rolls back what was not committed; the others are kept or closed
    as CONN_MAX_AGE says, like after a request.
    """
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None:
            _tidy(connection)


def _tidy(connection) -> None:
    try:
        if _is_in_transaction(connection):
            _abandon(connection)
        else:
            connection.close_if_unusable_or_obsolete()
    except Exception:  # closed behind Django's back, or worse: the next function gets a new one
        logger.warning("a run left its connection %r in a state that cannot be mended", connection.alias)
        _forget(connection)


def _is_in_transaction(connection) -> bool:
    if connection.in_atomic_block or not connection.get_autocommit():
        return True
    return bool(getattr(connection.connection, "in_transaction", False))  # a raw BEGIN, on SQLite


def _abandon(connection) -> None:
    connection.in_atomic_block = False
    connection.savepoint_ids = []
    connection.needs_rollback = False
    connection.run_on_commit = []
    connection.close()


def _forget(connection) -> None:
    with suppress(Exception):
        _abandon(connection)
    connection.connection = None
