"""Servers that are away for a while, and how many sessions they have."""

from contextlib import contextmanager

from django.db import connection

from benchmarks.servers import Server
from tests.processes.support import PATIENCE
from tests.runtime.support import wait_until


@contextmanager
def connected_to(server: Server, database: str):
    """Within the block the tests' own connections, and the processes that they start, go to that server."""
    before = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(
        HOST="127.0.0.1", PORT=str(server.port), USER=server.administrator, PASSWORD="", NAME=database
    )
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)


@contextmanager
def stopped(server: Server):
    """Within the block the server has ended in order, and nobody listens at its port."""
    server.stop()
    try:
        yield
    finally:
        _back(server.start)


@contextmanager
def killed(server: Server):
    server.kill()
    try:
        yield
    finally:
        _back(server.start)


@contextmanager
def frozen(server: Server):
    """Within the block the server keeps all its connections and answers nothing."""
    server.pause()
    try:
        yield
    finally:
        _back(server.resume)


def _back(how) -> None:
    how()
    connection.close()  # the tests' own one did not survive it


_SESSIONS = {
    "postgresql": (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"
    ),
    "mysql": "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
}
_END = {"postgresql": "SELECT pg_terminate_backend(%s)", "mysql": "KILL %s"}


def sessions() -> list[int]:
    """The sessions of all others with the tests' database."""
    with connection.cursor() as cursor:
        cursor.execute(_SESSIONS[connection.vendor])
        return [row[0] for row in cursor.fetchall()]


def end_all_sessions() -> None:
    """End them, and wait until they have gone."""
    ended = sessions()
    for number in ended:
        with connection.cursor() as cursor:
            cursor.execute(_END[connection.vendor], [number])
    wait_until(lambda: not set(ended) & set(sessions()), PATIENCE)
