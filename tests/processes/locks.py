"""Rows that somebody else has locked, as an open transaction at a console does."""

import time
from contextlib import contextmanager

from django.db import connection

# How many sessions wait for a lock in this database at this moment.
_WAITING = {
    "postgresql": (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ),
    "mysql": (
        "SELECT count(*) FROM information_schema.innodb_trx JOIN information_schema.processlist "
        "ON id = trx_mysql_thread_id WHERE trx_state = 'LOCK WAIT' AND db = DATABASE()"
    ),
}


@contextmanager
def locked(*rows):
    """Within the block another session holds the locks of these rows. Gives a function that executes a statement in
    its transaction."""
    other = connection.copy()
    other.set_autocommit(False)

    def execute(statement: str, *values) -> None:
        with other.cursor() as cursor:
            cursor.execute(statement, values)

    try:
        for row in rows:
            execute(f"SELECT id FROM {row._meta.db_table} WHERE id = %s FOR UPDATE", row.pk)
        yield execute
    finally:
        other.close()


def is_anybody_waiting() -> bool:
    if connection.vendor == "mysql":
        time.sleep(0.15)  # its tables of transactions are made anew when nobody has read them for 0.1 s
    with connection.cursor() as cursor:
        cursor.execute(_WAITING[connection.vendor])
        return int(cursor.fetchone()[0]) > 0
