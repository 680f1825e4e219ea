"""Functions that leave their connection in a bad state."""

from contextlib import suppress

from django.db import IntegrityError, connection, transaction

from jobs.models import Queue


def insert(name: str) -> None:
    Queue.objects.create(name=name)


def leave_atomic_open():
    transaction.atomic().__enter__()
    insert("left")


def raise_in_atomic_that_stays_open():
    leave_atomic_open()
    raise ValueError("away")


def set_autocommit_off():
    transaction.set_autocommit(False)
    insert("left")


def begin_by_hand():
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
    insert("left")


def begin_by_hand_with_the_drivers_cursor():
    """What has begun a transaction may be hidden, as in a procedure."""
    connection.ensure_connection()
    cursor = connection.connection.cursor()
    cursor.execute("BEGIN")
    cursor.execute("INSERT INTO jobs_queue (name) VALUES ('left')")


def close_the_connection():
    connection.close()


def close_the_drivers_connection():
    """Behind Django's back: whatever one asks a closed SQLite connection, it raises."""
    connection.ensure_connection()
    connection.connection.close()


def break_an_atomic_block():
    with transaction.atomic():
        insert("left")
        transaction.set_rollback(True)


def swallow_an_integrity_error():
    """Within `atomic()`: on other databases the transaction is aborted from there on."""
    with transaction.atomic():
        insert("twice")
        with suppress(IntegrityError):
            insert("twice")
        transaction.set_rollback(True)


def leave_a_swallowed_integrity_error_in_an_open_block():
    transaction.atomic().__enter__()
    insert("twice")
    with suppress(IntegrityError):
        insert("twice")


def raise_an_integrity_error():
    with transaction.atomic():
        insert("twice")
        insert("twice")


def set_the_session(statement: str):
    def set_the_session():
        with connection.cursor() as cursor:
            cursor.execute(statement)

    return set_the_session


def leave_rows_unread():
    """On PostgreSQL a named cursor that outlives its transaction, on MariaDB rows that the server still sends."""
    for number in range(3):
        insert(f"kept {number}")
    rows = Queue.objects.iterator(chunk_size=1)
    next(rows)
    left_behind.append(rows)
    if connection.vendor == "mysql":
        from MySQLdb.cursors import SSCursor

        cursor = connection.connection.cursor(SSCursor)
        cursor.execute("SELECT * FROM jobs_queue")
        cursor.fetchone()
        left_behind.append(cursor)


left_behind = []


def leave_a_cursor_open():
    with transaction.atomic():
        insert("kept")
    cursor = connection.cursor()
    cursor.execute("SELECT * FROM jobs_queue")
    cursor.fetchone()


SETTINGS = {
    "sqlite": {"read only": "PRAGMA query_only = 1"},
    "postgresql": {
        "read only": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "timeout": "SET statement_timeout = 1",
        "by a function": "SELECT set_config('default_transaction_read_only', 'on', false)",
        "temporary table": "CREATE TEMPORARY TABLE jobs_queue (name text CHECK (false))",
    },
    "mysql": {
        "read only": "SET SESSION TRANSACTION READ ONLY",
        "timeout": "SET SESSION max_statement_time = 0.000001",
        "locked tables": "LOCK TABLES jobs_job READ",
        "temporary table": "CREATE TEMPORARY TABLE jobs_queue (name int)",
    },
}[connection.vendor]

BODIES = {
    leave_atomic_open: "succeeded",
    raise_in_atomic_that_stays_open: "failed",
    set_autocommit_off: "succeeded",
    begin_by_hand: "succeeded",
    begin_by_hand_with_the_drivers_cursor: "succeeded",
    close_the_connection: "succeeded",
    close_the_drivers_connection: "succeeded",
    break_an_atomic_block: "succeeded",
    swallow_an_integrity_error: "succeeded",
    leave_a_swallowed_integrity_error_in_an_open_block: "succeeded",
    raise_an_integrity_error: "failed",
    leave_a_cursor_open: "succeeded",
    leave_rows_unread: "succeeded",
}
