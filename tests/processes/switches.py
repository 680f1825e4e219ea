"""Faults that a test switches on and off in a process at work, by files in its folder that are looked at before each
statement to the database."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from django.db.backends.signals import connection_created

ERROR = "raise_once_at"  # holds a part of the statement at which a RuntimeError is raised, once
PRAGMA = "pragma"  # holds what SQLite is told before each statement
FREEZE = "freeze_at"  # holds a part of the statement before which the process stops itself, once


def install(folder: Path) -> None:
    def act(execute, sql, params, many, context):
        _raise_once(folder / ERROR, sql)
        _freeze_once(folder / FREEZE, sql)
        _tell(folder / PRAGMA, context["connection"])
        return execute(sql, params, many, context)

    def watch(connection, **kwargs):
        connection.execute_wrappers.append(act)

    connection_created.connect(watch, weak=False)


def _raise_once(file: Path, sql: str) -> None:
    with suppress(FileNotFoundError):
        if file.read_text() in sql:
            file.unlink()  # of two threads one does
            raise RuntimeError("a fault that the test has switched on")


def _freeze_once(file: Path, sql: str) -> None:
    with suppress(FileNotFoundError):
        if file.read_text() in sql:
            file.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)


def _tell(file: Path, connection) -> None:
    with suppress(FileNotFoundError):
        text = file.read_text()
        connection.connection.execute(text)
