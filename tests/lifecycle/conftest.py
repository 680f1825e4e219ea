import pytest

from jobs.core import wake
from jobs.lifecycle.database import connection
from jobs.testing import FakeClock
from tests.tasks import lifecycle_notes


@pytest.fixture
def clock():
    with FakeClock() as clock:
        yield clock


@pytest.fixture
def wakes(monkeypatch):
    """A list that grows by one at every wake-up."""
    calls = []
    monkeypatch.setattr(wake, "_wakers", [lambda: calls.append("wake")])
    return calls


@pytest.fixture
def notes():
    """What the lifecycle task functions have noted since the test began."""
    lifecycle_notes.clear()
    return lifecycle_notes


@pytest.fixture
def refuse():
    """Have the database refuse, with an error of the data, every UPDATE of a row of jobs_run for which an SQL condition
    on NEW holds."""
    if connection().vendor != "sqlite":
        pytest.skip("this trigger is written for SQLite")

    def refuse(condition: str, table: str = "jobs_run", event: str = "UPDATE") -> None:
        name = f"refuse_{len(made)}"
        with connection().cursor() as cursor:
            cursor.execute(
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} WHEN {condition} "
                "BEGIN SELECT RAISE(ABORT, 'refused by a test'); END"
            )
        made.append(name)

    made = []
    yield refuse
    with connection().cursor() as cursor:
        for name in made:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
