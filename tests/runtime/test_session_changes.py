"""Which statements change the session of a connection, so that the next function must not get it."""

import pytest

from jobs.runtime.connections import _changes_session

CHANGING = [
    "SET statement_timeout = 1",
    "  \n-- a remark\n/* another */ set names utf8mb4",
    "/* one */ /* two */ SET x = 1",
    "PRAGMA query_only = 1",
    "CREATE TEMP TABLE x (id int)",
    "CREATE OR REPLACE TEMPORARY TABLE x (id int)",
    "CREATE LOCAL TEMPORARY TABLE x (id int)",
    "SELECT 1 INTO TEMP x",
    "CREATE TABLE pg_temp.x (id int)",
    "FLUSH TABLES WITH READ LOCK",
    "SELECT pg_advisory_lock(1)",
    "SELECT set_config('work_mem', '1GB', false)",
]
HARMLESS = [
    "SELECT 1",
    "/* SET */ SELECT 1",
    "INSERT INTO x VALUES (1)",
    "UPDATE x SET a = 1",
    "CREATE TABLE x (id int)",
]


@pytest.mark.parametrize("statement", CHANGING)
def test_it_is_seen(statement):
    assert _changes_session(statement)


@pytest.mark.parametrize("statement", HARMLESS)
def test_others_keep_their_connection(statement):
    assert not _changes_session(statement)


@pytest.mark.parametrize("statement", ["SELECT 1", "x"])
def test_many_comments_before_it_cost_nothing_much(statement):
    """To try in how many ways they can be read would take longer than anybody waits."""
    assert not _changes_session("/* line */\n" * 2000 + statement)
    assert _changes_session("/* line */\n" * 2000 + "SET x = 1")
