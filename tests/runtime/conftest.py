import pytest

import jobs
from jobs.registry import registry
from jobs.runtime.scheduler import Scheduler
from jobs.testing import FakeClock
from tests.runtime.support import PATIENCE, Failing, Gate, HandExecutor, make_dispatcher


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def clock():
    """A clock that stands until the test moves it."""
    with FakeClock() as clock:
        yield clock


@pytest.fixture
def quick_news(monkeypatch):
    """Dispatchers hear at once who was asked to end."""
    monkeypatch.setattr("jobs.runtime.dispatcher.REPORT_SECONDS", 0.05)


@pytest.fixture
def task():
    """Register functions for the time of the test, under their own names."""
    names = []

    def register(func=None, /, **options):
        if func is None:
            return lambda func: register(func, **options)
        task = jobs.register(**({"name": f"runtime.{func.__name__}"} | options))(func)
        names.append(task.name)
        return task

    yield register
    for name in names:
        registry.discard(name)


@pytest.fixture
def ok(task):
    """A task function that does nothing."""

    @task(name="runtime.ok")
    def ok():
        pass

    return ok


@pytest.fixture
def by_hand():
    """Make dispatchers that are stepped by `cycle()`; their executor is in `executor`."""
    made = []

    def make(threads=1, *, executor=None, **options):
        executor = executor or HandExecutor(threads)
        dispatcher = make_dispatcher(executor, **options)
        dispatcher.executor = executor
        dispatcher.enter()
        made.append(dispatcher)
        return dispatcher

    yield make
    for dispatcher in made:
        dispatcher.leave()


@pytest.fixture
def start(gate):
    """Start schedulers, which are stopped after the test. Functions wait at `gate` at most until then."""
    made = []

    def start(**options):
        scheduler = Scheduler(**({"kind": "test", "threads": 1} | options))
        made.append(scheduler)
        scheduler.start()
        return scheduler

    yield start
    gate.open()
    for scheduler in made:
        scheduler.request_stop(0)
        assert scheduler.stopped.wait(PATIENCE)


@pytest.fixture
def fail(monkeypatch):
    """Have a step of the scheduler fail so many times, or while `is_on`."""

    def fail(owner, name, error, times=None):
        failing = Failing(getattr(owner, name), error, times)
        # A class's function must stay one, to get its `self`.
        replacement = (lambda *args, **kwargs: failing(*args, **kwargs)) if isinstance(owner, type) else failing
        monkeypatch.setattr(owner, name, replacement)
        if times is not None:
            failing.is_on.set()
        return failing

    return fail
