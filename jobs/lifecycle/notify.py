"""Telling dispatchers that there may be work, once it is committed: the ones in this process, and by NOTIFY, which only
PostgreSQL has, those in other processes.

The notification is a statement of its own after the commit. Inside the transaction it would cost no statement; but then
PostgreSQL lets all such transactions of the whole server commit one after the other, each with its own write to the
disk. If it is lost, as with a process that is killed in between, the others find the run by their poll.

The channel has the name of the table of runs; the payload is the queue, so that workers that do not serve it sleep on.
Another set of tables in the same database is woken too, and finds nothing.
"""

from django.db import transaction

from jobs.conf import get_settings
from jobs.core import wake

CHANNEL = "jobs_run"
ANYBODY = ""  # in the place of a queue: whichever it is


def can_notify(connection) -> bool:
    return connection.vendor == "postgresql" and get_settings().NOTIFY


def wake_on_commit(connection, queue: str) -> None:
    """Wake whoever serves this queue, in any process."""
    transaction.on_commit(wake.wake, using=connection.alias, robust=True)
    notify(connection, queue)


def notify(connection, queue: str) -> None:
    """Wake whoever serves this queue in other processes: once for a commit, however often it is called before."""
    if not can_notify(connection):
        return
    told = getattr(connection, "_jobs_told", None)
    if told is None:
        told = connection._jobs_told = set()

    def send():
        connection._jobs_told = set()  # what comes from here on is another commit's
        if queue not in told:
            told.add(queue)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_notify(%s, %s)", (CHANNEL, queue))

    transaction.on_commit(send, using=connection.alias, robust=True)
