"""Copied as `manage.py` into a test's folder: runs a command, and tells what SQL it sent and which threads it had."""

import atexit
import json
import sys
import threading
from pathlib import Path

from django.core.management import execute_from_command_line
from django.db.backends.signals import connection_created

REPORT = Path(__file__).with_name("report.json")
statements = []


def watch(connection, **kwargs):
    def note(execute, sql, *rest):
        statements.append(sql)
        return execute(sql, *rest)

    connection.execute_wrappers.append(note)


def report():
    threads = [thread.name for thread in threading.enumerate()]
    REPORT.write_text(json.dumps({"statements": statements, "threads": threads}))


if __name__ == "__main__":
    connection_created.connect(watch, weak=False)
    atexit.register(report)
    execute_from_command_line(sys.argv)
