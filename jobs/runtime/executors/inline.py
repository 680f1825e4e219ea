"""Functions in the dispatcher's own thread, one after the other: for tests and for draining on the spot."""

from collections.abc import Callable

from django.db import transaction

from jobs.core.crew import Crew, Seat
from jobs.lifecycle.database import connection
from jobs.lifecycle.outcome import Outcome
from jobs.runtime.context import RunContext
from jobs.runtime.coroutines import run_here
from jobs.runtime.execute import execute


class InlineExecutor:
    """Runs a function while it is submitted. Leaves the caller's database connections alone."""

    name = "inline"
    threads = 1
    can_look_ahead = False  # what a function enqueues may be more urgent than what was claimed before it ran
    executed = 0  # how many functions it has run

    def start(self, *, may_start: Callable[[RunContext], bool], deliver: Callable[[RunContext, Outcome | None], None]):
        self._deliver = deliver

    def submit(self, context: RunContext) -> None:
        context.has_started = True
        self.executed += 1
        context.seat = Seat(Crew(self.threads), context.id)
        self._deliver(context, _execute(context))

    def take_back(self, context: RunContext) -> bool:
        return False

    def stop(self) -> None:
        pass


def _execute(context: RunContext) -> Outcome:
    """Within the caller's transaction, as in a TestCase, a failure takes back what its own function did and no more."""
    db = connection()
    if not db.in_atomic_block:
        return execute(context, wait_for=run_here)
    with transaction.atomic(using=db.alias):
        outcome = execute(context, wait_for=run_here)
        if outcome.failure is not None:
            transaction.set_rollback(True, using=db.alias)
    return outcome
