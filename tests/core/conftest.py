import gc

import pytest

from jobs.core import FIFOScheduler, PriorityScheduler
from tests.core.tools import PATIENCE, Gate


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def make(gate):
    """Make schedulers that are stopped after the test."""
    made = []

    def make(kind=PriorityScheduler, **options):
        made.append(kind(**options))
        return made[-1]

    yield make
    gate.open()
    assert all(scheduler.stop(timeout=PATIENCE) for scheduler in made)


class Fifo(FIFOScheduler):
    def put(self, func, /, *args, **kwargs):
        return self.schedule(func, *args, **kwargs)


class Priority(PriorityScheduler):
    def put(self, func, /, *args, **kwargs):
        return self.schedule(func, 0, *args, **kwargs)


@pytest.fixture(params=[Fifo, Priority])
def scheduler(request, make):
    """Either scheduler with one thread; `put(func, *args, **kwargs)` schedules alike on both."""
    return make(request.param)


@pytest.fixture
def no_gc():
    """What goes away in this test goes by reference counts alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
