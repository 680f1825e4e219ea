"""Short ways through the life of a run, for tests that look at one step of it."""

import threading
from contextlib import contextmanager
from datetime import timedelta
from itertools import count

from django.db import connections, transaction
from hypothesis import HealthCheck, settings

from jobs.core import clock
from jobs.core.order import STRICT_AGEING, order_key
from jobs.core.states import Reason, State
from jobs.lifecycle import claim as claims
from jobs.lifecycle import workers
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.finish import finish
from jobs.lifecycle.outcome import Failure, Outcome
from jobs.models import Run, Worker

# Machines differ in speed: no example is judged by the time it takes.
any_speed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)

PATIENCE = 20  # seconds until a test that waits for another thread gives up

_numbers = count(1)


def stored(*, queue="default", priority=0, state=State.QUEUED, ready_in=0.0, **columns) -> Run:
    """A row as an enqueue, or what came after it, has left it."""
    ready_at = clock.now() + timedelta(seconds=ready_in)
    defaults = {
        "task": "tests.tasks.lifecycle_note",
        "state": State(state).value,
        "queue": queue,
        "priority": priority,
        "effective_priority": priority,
        "ready_at": ready_at,
        "order_key": order_key(priority, ready_at, STRICT_AGEING),
        "enqueued_at": clock.now(),
        "arguments_json": f'{{"what":{next(_numbers)}}}',
    }
    return Run.objects.create(**defaults | columns)


def row(run) -> dict:
    """Every column of a run's row, to see that nothing has changed."""
    return Run.objects.filter(pk=run.pk if isinstance(run, Run) else run.id).values().get()


def fresh(run) -> Run:
    return Run.objects.get(pk=run.pk if isinstance(run, Run) else run.id)


def take(limit=1, *, worker=1, **served) -> list[claims.ClaimedRun]:
    """Claim as the dispatcher does."""
    with transaction.atomic(using=alias()):
        return claims.claim(connection(), worker_id=worker, limit=limit, now=clock.now(), **served)


def take_one(**served) -> claims.ClaimedRun:
    (run,) = take(1, **served)
    return run


def give_back(*runs) -> list[int]:
    with transaction.atomic(using=alias()):
        return claims.release(connection(), runs)


def success(run, **changes) -> Outcome:
    return Outcome(
        **{"run": run, "state": State.SUCCEEDED, "started_at": clock.now(), "ended_at": clock.now()} | changes
    )


def failure(run, message="no", **changes) -> Outcome:
    said = Failure("ValueError", message, f"Traceback …\nValueError: {message}")
    reason = {"reason": Reason.FUNCTION_RAISED, "reason_arguments": {"error_class": "ValueError", "message": message}}
    return success(run, **{"state": State.FAILED, "failure": said} | reason | changes)


def retry(run, message="no", *, pause=timedelta(seconds=10), **changes) -> Outcome:
    """A failure that is followed by another attempt."""
    return failure(run, message, **{"state": State.SCHEDULED, "reason": Reason.RETRY, "pause": pause} | changes)


def snooze(run, said="not yet", *, pause=timedelta(seconds=10), **changes) -> Outcome:
    asked = {"state": State.SCHEDULED, "reason": Reason.SNOOZED, "pause": pause, "said": said}
    return success(run, **asked | changes)


def stop(run, said="", **changes) -> Outcome:
    """Its function has cancelled the run."""
    return success(run, **{"state": State.CANCELLED, "reason": Reason.STOPPED_ITSELF, "said": said} | changes)


def death(run, exit_code=3, **changes) -> Outcome:
    """The process that executed it has ended."""
    return success(run, **{"state": State.SCHEDULED, "exit_code": exit_code} | changes)


def write(*outcomes, one_by_one=False) -> list[Outcome]:
    with transaction.atomic(using=alias()):
        return finish(connection(), list(outcomes), one_by_one=one_by_one).stored


def ended(state=State.SUCCEEDED, **columns) -> Run:
    """A row that has reached its end."""
    return stored(state=state, finished_at=clock.now(), **columns)


def new_worker(**changes) -> Worker:
    described = {"kind": "test", "executor": "threads", "threads": 1, "queues": None, "now": clock.now()}
    return workers.enter(**described | changes)


@contextmanager
def rolled_back():
    """Undo what one example of a property test has stored."""
    with transaction.atomic(using=alias()):
        yield
        transaction.set_rollback(True, using=alias())


class Thread(threading.Thread):
    """A thread with a database connection of its own, which it closes; `outcome()` gives what its function returned, or
    raises what it raised."""

    def __init__(self, func, *args):
        super().__init__(daemon=True)
        self._func, self._args = func, args
        self._result = self._error = None
        self.start()

    def run(self):
        try:
            self._result = self._func(*self._args)
        except BaseException as error:
            self._error = error
        finally:
            connections.close_all()

    def outcome(self):
        self.join(PATIENCE)
        assert not self.is_alive(), "the thread hangs"
        if self._error is not None:
            raise self._error
        return self._result


def elsewhere(func, *args):
    """What a function returns in another thread, over another connection."""
    return Thread(func, *args).outcome()
