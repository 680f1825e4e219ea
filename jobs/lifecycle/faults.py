"""What an error of the database is about: one row or value, somebody else's lock, or the database itself."""

from django.db import DatabaseError, DataError, IntegrityError, InterfaceError, OperationalError

# SQLSTATE classes: data exception, integrity violation, WITH CHECK OPTION, PL/pgSQL (a trigger's RAISE EXCEPTION).
_REFUSING_CLASSES = ("22", "23", "44", "P0")
# MariaDB tells these as errors of its operation: a value out of range, a wrong text or date, a value too long or cut,
# a trigger's SIGNAL.
_REFUSING_NUMBERS = (1264, 1265, 1292, 1366, 1406, 1644)
_LOCK_NOT_AVAILABLE = "55P03"
_LOCK_WAIT_TIMEOUT = 1205


def is_refusal(error: Exception) -> bool:
    """Whether the database, or its driver, refuses one row or value: to try the same again is no use. Every other
    error may pass by itself."""
    if state := _sqlstate(error):
        return state.startswith(_REFUSING_CLASSES)
    if isinstance(error, OperationalError):
        return _number(error) in _REFUSING_NUMBERS
    return isinstance(error, (DataError, IntegrityError, ValueError, OverflowError))


def is_of_the_database(error: Exception) -> bool:
    """Whether the error is about the database, and not about the one thing that was handled: it then meets all others
    as well."""
    return isinstance(error, (DatabaseError, InterfaceError)) and not is_refusal(error)


def is_lock_timeout(error: Exception) -> bool:
    """Whether a statement gave up waiting for somebody else's lock on a row or table. SQLite has one lock for all."""
    return _sqlstate(error) == _LOCK_NOT_AVAILABLE or (
        isinstance(error, OperationalError) and _number(error) == _LOCK_WAIT_TIMEOUT
    )


def told(error: Exception) -> str:
    """An error for the log: its class and first line. In the others PostgreSQL shows the values of the row."""
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def _sqlstate(error: Exception) -> str:
    cause = error.__cause__
    return getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None) or ""


def _number(error: Exception) -> int | None:
    return error.args[0] if error.args and isinstance(error.args[0], int) else None
