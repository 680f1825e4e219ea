"""What the statements of a call really read, as each database tells it."""

import json
from contextlib import contextmanager
from dataclasses import dataclass

from django.apps import apps
from django.db import transaction

# At most so many instructions of SQLite's machine go into finding, changing and indexing one row.
STEPS_A_ROW = 100


@dataclass
class Reading:
    """One statement: how many rows or index entries it has read, whether it has sorted, and what says so."""

    sql: str
    rows: float
    has_sorted: bool
    plan: str


@contextmanager
def observed(connection):
    """A list to which every SELECT and UPDATE inside the block adds its Reading."""
    read = {"postgresql": _explained, "mysql": _counted, "sqlite": _stepped}[connection.vendor]
    readings = []
    _open_tables(connection)

    def wrapper(execute, sql, params, many, context):
        if not sql.startswith(("SELECT", "UPDATE")):
            return execute(sql, params, many, context)
        reading, result = read(connection, execute, sql, params, many, context)
        readings.append(reading)
        return result

    with connection.execute_wrapper(wrapper):
        yield readings


def _open_tables(connection):
    """MariaDB reads what it knows of a table when a statement is the first to open it, and counts that as well: a key
    for each column and index."""
    with connection.cursor() as cursor:
        for model in apps.get_app_config("jobs").get_models():
            cursor.execute(f"SELECT 1 FROM {model._meta.db_table} LIMIT 1")


def _explained(connection, execute, *statement):
    """PostgreSQL: carried out once to be explained, taken back, and carried out."""
    sql, params = statement[:2]
    with transaction.atomic(using=connection.alias):
        cursor = connection.connection.cursor()
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
        (plan,) = cursor.fetchone()[0]
        transaction.set_rollback(True, using=connection.alias)
    nodes = list(_nodes(plan["Plan"]))
    rows = max(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes
        if "Scan" in node["Node Type"] or node["Node Type"] == "Result"
    )
    has_sorted = any("Sort" in node["Node Type"] for node in nodes)
    return Reading(sql, rows, has_sorted, json.dumps(plan)), execute(*statement)


def _nodes(node):
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _counted(connection, execute, *statement):
    """MariaDB: the session's counters before and after."""
    before = _counters(connection)
    result = execute(*statement)
    counts = {name: value - before[name] for name, value in _counters(connection).items() if value != before[name]}
    rows = sum(value for name, value in counts.items() if name.startswith("Handler_read"))
    return Reading(statement[0], rows, any(name.startswith("Sort") for name in counts), str(counts)), result


def _counters(connection) -> dict[str, int]:
    cursor = connection.connection.cursor()
    # Without what SHOW STATUS itself reads: it fills a temporary table and scans that.
    cursor.execute("SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key',"
                   "'Handler_read_last', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd',"
                   "'Handler_read_rnd_next', 'Sort_merge_passes', 'Sort_range', 'Sort_rows', 'Sort_scan')")  # fmt: skip
    return {name: int(value) for name, value in cursor.fetchall()}


def _stepped(connection, execute, *statement):
    """SQLite: the plan, and the instructions that the statement takes; a SELECT is carried out once for that."""
    sql, params = statement[:2]
    database, steps = connection.connection, []
    named = params if isinstance(params, dict) else {f"p{n}": value for n, value in enumerate(params or ())}
    names = [f":{name}" for name in named]
    plain = sql % (dict(zip(named, names, strict=True)) if isinstance(params, dict) else tuple(names))
    plan = " / ".join(line[3] for line in database.execute(f"EXPLAIN QUERY PLAN {plain}", named))
    database.set_progress_handler(lambda: steps.append(1), 1)
    try:
        if sql.startswith("SELECT"):
            database.execute(plain, named).fetchall()
            result = None
        else:
            result = execute(*statement)
    finally:
        database.set_progress_handler(None, 0)
    if sql.startswith("SELECT"):
        result = execute(*statement)
    return Reading(sql, len(steps) / STEPS_A_ROW, "TEMP B-TREE" in plan, plan), result
