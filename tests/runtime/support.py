"""Tools for tests of the runtime: functions are held at gates, dispatchers stepped by hand; nothing sleeps for luck."""

import time
from collections.abc import Callable
from datetime import datetime
from threading import Barrier, Event, Semaphore, Thread

from jobs.conf import Settings
from jobs.core import clock
from jobs.core.states import Reason, State
from jobs.lifecycle.outcome import Failure, Outcome
from jobs.models import Run
from jobs.runtime.context import RunContext
from jobs.runtime.dispatcher import Dispatcher

PATIENCE = 20  # seconds; only a failing test waits that long

# For dispatchers stepped by hand, on a clock that a test moves.
SETTINGS = {"THREADS": 1, "POLL_SECONDS": 1.0, "HEARTBEAT_SECONDS": 10.0, "LOST_AFTER_SECONDS": 45.0}


class Gate:
    """Where a function waits until the test lets it go on."""

    def __init__(self):
        self.entered = Event()
        self.opened = Event()

    def __call__(self) -> None:
        self.entered.set()
        assert self.opened.wait(PATIENCE)

    def wait_until_entered(self) -> None:
        assert self.entered.wait(PATIENCE)

    def open(self) -> None:
        self.opened.set()


def wait_until(condition: Callable[[], object], patience: float = PATIENCE):
    """Until `condition()` is true, which it returns; an assertion when that takes too long."""
    deadline = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.005)
    return value


def together(functions: list[Callable[[], object]]) -> None:
    """Call the functions in threads of their own, all released at one barrier; what one raises is raised here."""
    barrier, problems = Barrier(len(functions)), []

    def call(function):
        from django.db import connections

        try:
            barrier.wait(PATIENCE)
            function()
        except BaseException as problem:
            problems.append(problem)
        finally:
            connections.close_all()

    threads = [Thread(target=call, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    if problems:
        raise problems[0]


class Failing:
    """Stands for a function; fails when asked to, and counts."""

    def __init__(self, original, error, times=None):
        self.original, self.error, self.times = original, error, times
        self.is_on = Event()
        self.failures = Semaphore(0)

    def __call__(self, *args, **kwargs):
        if self.is_on.is_set() and self.times != 0:
            if self.times is not None:
                self.times -= 1
            self.failures.release()
            raise self.error
        return self.original(*args, **kwargs)

    def wait_for(self, number: int) -> None:
        for _ in range(number):
            assert self.failures.acquire(timeout=PATIENCE)


class HandExecutor:
    """An executor in which nothing happens by itself: the test begins and ends the functions."""

    name = "hand"
    can_look_ahead = True

    def __init__(self, threads: int = 1):
        self.threads = threads
        self.waiting: list[RunContext] = []
        self.running: list[RunContext] = []

    def start(self, *, may_start, deliver):
        self._may_start, self._deliver = may_start, deliver

    def submit(self, context: RunContext) -> None:
        self.waiting.append(context)

    def take_back(self, context: RunContext) -> bool:
        if context not in self.waiting:
            return False
        self.waiting.remove(context)
        return True

    def stop(self) -> None:
        pass

    @property
    def waiting_ids(self) -> list[int]:
        return [context.id for context in self.waiting]

    def begin(self) -> RunContext | None:
        """A thread takes the best of what waits; None if it may not start it."""
        context = min(self.waiting, key=lambda each: (each.run.order_key, each.id))
        self.waiting.remove(context)
        if not self._may_start(context):
            self._deliver(context, None)
            return None
        context.has_started = True
        self.running.append(context)
        return context

    def end(self, context: RunContext, *, seconds: float = 0.0, error: str = "", result: str | None = None) -> None:
        """The function returns the JSON `result` after so many seconds, or raises an error with this text."""
        self.running.remove(context)
        now = clock.now()
        outcome = Outcome(context.run, State.SUCCEEDED, started_at=now, ended_at=now, result_json=result)
        outcome.seconds = seconds
        if error:
            outcome.state, outcome.reason = State.FAILED, Reason.FUNCTION_RAISED
            outcome.failure = Failure("RuntimeError", error)
        self._deliver(context, outcome)

    def run_one(self, **ending) -> RunContext:
        """Begin the best of what waits and end it."""
        context = self.begin()
        self.end(context, **ending)
        return context


def make_dispatcher(executor, *, queues=None, stays: bool = True, **settings) -> Dispatcher:
    return Dispatcher(executor, Settings(**(SETTINGS | settings)), kind="test", queues=queues, stays=stays)


def states(runs) -> list[str]:
    """The runs' states in the database, in the order of the runs given."""
    found = dict(Run.objects.filter(pk__in=[run.pk for run in runs]).values_list("pk", "state"))
    return [found[run.pk] for run in runs]


def in_order(runs) -> list[int]:
    """The model: ids by priority, then by time, then by number."""
    return [run.pk for run in sorted(runs, key=lambda run: (run.priority, run.ready_at, run.pk))]


def orphan(run: Run, *, worker_id: int, at: datetime | None = None) -> None:
    """Make a waiting run look as if this worker were executing it."""
    Run.objects.filter(pk=run.pk).update(
        state=State.RUNNING.value, worker_id=worker_id, claim_no=run.claim_no + 1, started_at=at or clock.now()
    )
