import pytest

from jobs.testing import FakeClock
from tests.runtime.conftest import by_hand, ok, task  # noqa: F401
from tests.schedules.support import every


@pytest.fixture
def clock():
    with FakeClock() as clock:
        yield clock


@pytest.fixture
def first(clock, by_hand):  # noqa: F811
    """Make a schedule of ten seconds whose first run works; returns it, its dispatcher and what works."""

    def first(overlap: str, threads: int = 3, **columns):
        schedule, dispatcher = every(10, overlap=overlap, **columns), by_hand(threads=threads)
        dispatcher.cycle()
        clock.move(10)
        dispatcher.cycle()
        return schedule, dispatcher, dispatcher.executor.begin()

    return first
