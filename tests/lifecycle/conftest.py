import pytest

from jobs.core import wake
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
