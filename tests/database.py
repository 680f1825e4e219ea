"""What tests ask of any database beyond rows: to refuse a write, and how it would read."""

import json
import re
from dataclasses import dataclass

from django.db import transaction

from jobs.lifecycle.database import connection

PRIMARY_KEY = "primary key"

_TRIGGERS = {
    "sqlite": (
        "CREATE TRIGGER {name} BEFORE {event} ON {table} WHEN {condition} "
        "BEGIN SELECT RAISE(ABORT, 'refused by a test'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF {condition} THEN RAISE EXCEPTION 'refused by a test'; END IF; RETURN NEW; END $$",
        "CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()",
    ),
    "mysql": (
        "CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW BEGIN "
        "IF {condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused by a test'; END IF; END",
    ),
}


class Refusals:
    """Have the database refuse every such write of a row for which an SQL condition on NEW holds.

    Not inside a transaction: MariaDB commits it to make a trigger.
    """

    def __init__(self):
        self._made = []

    def __call__(self, condition: str, table: str = "jobs_run", event: str = "UPDATE") -> None:
        name = f"refuse_{len(self._made)}"
        self._made.append((name, table))
        for statement in _TRIGGERS[connection().vendor]:
            _execute(statement.format(name=name, table=table, event=event, condition=condition))

    def end(self) -> None:
        """From here on everything is taken again."""
        while self._made:
            name, table = self._made.pop()
            if connection().vendor == "postgresql":
                _execute(f"DROP TRIGGER {name} ON {table}")
                _execute(f"DROP FUNCTION {name}")
            else:
                _execute(f"DROP TRIGGER {name}")


def _execute(statement: str) -> list[tuple]:
    with connection().cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


@dataclass(frozen=True)
class Plan:
    """How a database means to carry out a statement."""

    text: str
    indexes: frozenset[str]  # those that it reads; PRIMARY_KEY for the table's own
    has_sort: bool  # not if only what an index has as equal is sorted, page by page: PostgreSQL's Incremental Sort
    has_scan: bool  # a table is read from its first row to its last


def plan_of(statement: str) -> Plan:
    plans = {"sqlite": _sqlite_plan, "postgresql": _postgresql_plan, "mysql": _mariadb_plan}
    return plans[connection().vendor](statement)


def _sqlite_plan(statement: str) -> Plan:
    text = "\n".join(row[3] for row in _execute(f"EXPLAIN QUERY PLAN {statement}"))
    found = set(re.findall(r"INDEX (\w+)", text))
    if "INTEGER PRIMARY KEY" in text:
        found.add(PRIMARY_KEY)
    is_in_order = text.startswith("SCAN") and "INDEX" not in text and "ORDER BY" in statement and "B-TREE" not in text
    if is_in_order:  # the table itself, in the order of its key, as far as the LIMIT
        found.add(PRIMARY_KEY)
    return Plan(text, frozenset(found), "TEMP B-TREE" in text, bool(re.search(r"SCAN jobs_", text)) and not is_in_order)


def _postgresql_plan(statement: str) -> Plan:
    """A small table is quickest read as a whole, and sorted: without these ways the plan shows what indexes allow."""
    with transaction.atomic(using=connection().alias):
        _execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        plan = _execute(f"EXPLAIN (FORMAT JSON) {statement}")[0][0]
        transaction.set_rollback(True, using=connection().alias)
    nodes = list(_nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
    kinds = {node["Node Type"] for node in nodes}
    names = {node["Index Name"] for node in nodes if "Index Name" in node}
    indexes = frozenset(PRIMARY_KEY if name.endswith("_pkey") else name for name in names)
    return Plan(json.dumps(plan, indent=1), indexes, "Sort" in kinds, "Seq Scan" in kinds)


def _nodes(node: dict):
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _mariadb_plan(statement: str) -> Plan:
    rows = _execute(f"EXPLAIN {statement}")
    keys, extras = ({row[column] for row in rows if row[column]} for column in (5, 9))
    indexes = frozenset(PRIMARY_KEY if key == "PRIMARY" else key for key in keys)
    has_scan = any(row[3] == "ALL" and not row[2].startswith("<") for row in rows)  # "<derived2>": found rows
    return Plan("\n".join(map(str, rows)), indexes, "filesort" in str(extras), has_scan)


def in_one_spelling(sql: str) -> str:
    """A statement with names quoted as the standard says: MariaDB has backticks."""
    return sql.replace("`", '"')


def refresh_statistics() -> None:
    """Have the planner know the table of runs. On MariaDB it does by itself, and ANALYZE would commit."""
    if connection().vendor != "mysql":
        _execute("ANALYZE jobs_run")
