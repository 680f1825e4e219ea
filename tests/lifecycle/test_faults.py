"""What an error is about: one row, somebody's lock, or the database. With errors that the databases really raise."""

from threading import Barrier

import pytest
from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError, connection, transaction

from jobs.lifecycle.faults import is_lock_timeout, is_refusal
from jobs.models import Run
from tests.lifecycle.support import Thread, stored
from tests.runtime.support import together

only = {
    vendor: pytest.mark.skipif(connection.vendor != vendor, reason=f"an error of {vendor}")
    for vendor in ("sqlite", "postgresql", "mysql")
}


def error_of(*statements: str, parameters=None) -> Exception:
    """What the last of these raises, in a transaction that is rolled back."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in statements[:-1]:
                cursor.execute(statement)
            cursor.execute(statements[-1], parameters)
    except (DatabaseError, InterfaceError, ValueError) as error:
        return error
    raise AssertionError("nothing was refused")


class TestAboutOneRow:
    pytestmark = pytest.mark.django_db(transaction=True)

    def test_a_value_that_is_there_already(self):
        stored(unique_hash="x")
        error = error_of("UPDATE jobs_run SET unique_hash = 'y'", f"INSERT INTO jobs_run {twice('unique_hash')}")
        assert isinstance(error, IntegrityError)
        assert is_refusal(error)

    def test_no_value_where_one_is_needed(self):
        stored()
        assert is_refusal(error_of("UPDATE jobs_run SET state = NULL"))

    @pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite knows no length")
    def test_a_text_that_is_too_long(self):
        stored()
        assert is_refusal(error_of("UPDATE jobs_run SET state = 'longer than ten characters'"))

    @pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite knows no range")
    def test_a_number_out_of_range(self):
        stored()
        assert is_refusal(error_of("UPDATE jobs_run SET claim_no = 3000000000"))

    @only["postgresql"]
    def test_a_nul(self):
        stored()
        assert is_refusal(error_of("UPDATE jobs_run SET result_json = %s", parameters=["a\0b"]))

    def test_a_text_that_cannot_be_encoded(self):
        stored()
        assert is_refusal(error_of("UPDATE jobs_run SET result_json = %s", parameters=["\ud800"]))

    def test_an_integer_that_the_driver_refuses(self):
        assert is_refusal(OverflowError("Python int too large to convert to SQLite INTEGER"))


def twice(column: str) -> str:
    """The columns of a row, and its values selected from the first row: the same value of `column` once more."""
    names = [field.column for field in Run._meta.concrete_fields if field.column != "id"]
    return f"({', '.join(names)}) SELECT {', '.join(names)} FROM jobs_run"


class TestAboutTheDatabase:
    pytestmark = pytest.mark.django_db(transaction=True)

    @pytest.mark.parametrize(
        "statement",
        ["SELECT no_such_column FROM jobs_run", "SELECT * FROM no_such_table", "SELEKT"],
        ids=["column", "table", "syntax"],
    )
    def test_a_database_of_another_shape(self, statement):
        """As while it is migrated: it will be of the right shape soon."""
        assert not is_refusal(error_of(statement))

    def test_a_database_that_is_read_only(self):
        stored()
        with read_only():
            error = error_of("UPDATE jobs_run SET claim_no = 1")
        assert not is_refusal(error)

    @only["postgresql"]
    def test_a_statement_that_took_too_long(self):
        assert not is_refusal(error_of("SET LOCAL statement_timeout = 1", "SELECT pg_sleep(5)"))

    @only["postgresql"]
    def test_a_transaction_that_is_broken_already(self):
        with transaction.atomic():
            with connection.cursor() as cursor:
                with pytest.raises(DatabaseError):
                    cursor.execute("SELEKT")
                with pytest.raises(DatabaseError) as raised:
                    cursor.execute("SELECT 1")
            transaction.set_rollback(True)
        assert not is_refusal(raised.value)

    def test_a_connection_that_is_gone(self):
        assert not is_refusal(InterfaceError("connection already closed"))
        assert not is_refusal(OperationalError(2006, "Server has gone away"))

    @pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one lock for all: no deadlock")
    def test_a_deadlock(self):
        first, second = stored(), stored()
        both_have_one, errors = Barrier(2), []

        def lock(mine, other):
            try:
                with transaction.atomic():
                    Run.objects.select_for_update().get(pk=mine.pk)
                    both_have_one.wait(20)
                    Run.objects.select_for_update().get(pk=other.pk)
            except DatabaseError as error:
                errors.append(error)

        together([lambda: lock(first, second), lambda: lock(second, first)])
        (error,) = errors
        assert not is_refusal(error)
        assert not is_lock_timeout(error)


class TestLocked:
    pytestmark = pytest.mark.django_db(transaction=True)

    @pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one lock for all")
    def test_a_row_that_somebody_else_has_locked(self):
        run = stored()
        with transaction.atomic():
            Run.objects.select_for_update().get(pk=run.pk)
            error = Thread(error_of, short_waits(), f"UPDATE jobs_run SET claim_no = 1 WHERE id = {run.pk}").outcome()
        assert is_lock_timeout(error)
        assert not is_refusal(error)

    @only["sqlite"]
    def test_sqlites_lock_is_the_database(self):
        assert not is_lock_timeout(OperationalError("database is locked"))
        assert not is_refusal(OperationalError("database is locked"))


def short_waits() -> str:
    if connection.vendor == "postgresql":
        return "SET LOCAL lock_timeout = 50"
    return "SET SESSION innodb_lock_wait_timeout = 1"


class read_only:
    """Within the block, this connection may not write."""

    ON = {
        "sqlite": "PRAGMA query_only = 1",
        "postgresql": "SET default_transaction_read_only = on",
        "mysql": "SET SESSION TRANSACTION READ ONLY",
    }
    OFF = {
        "sqlite": "PRAGMA query_only = 0",
        "postgresql": "SET default_transaction_read_only = off",
        "mysql": "SET SESSION TRANSACTION READ WRITE",
    }

    def __enter__(self):
        self._tell(self.ON)

    def __exit__(self, *exc_info):
        self._tell(self.OFF)

    def _tell(self, words):
        with connection.cursor() as cursor:
            cursor.execute(words[connection.vendor])
