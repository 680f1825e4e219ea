"""Functions in threads of this process: the PriorityScheduler with order keys as priorities."""

import os
from collections.abc import Callable

from jobs.core.priority import PriorityScheduler
from jobs.lifecycle.outcome import Outcome
from jobs.runtime import connections
from jobs.runtime.context import RunContext
from jobs.runtime.execute import execute


class ThreadsExecutor:
    """`deliver(context, outcome)` is called in the function's thread; outcome None means that it was not started.

    `may_start(context)` is asked just before a function starts.
    """

    name = "threads"
    can_look_ahead = True

    def __init__(self, threads: int):
        self.threads = threads
        self._scheduler = PriorityScheduler(threads=threads)

    def start(self, *, may_start: Callable[[RunContext], bool], deliver: Callable[[RunContext, Outcome | None], None]):
        self._pid = os.getpid()
        self._may_start = may_start
        self._deliver = deliver
        connections.begin_watching()
        self._scheduler.start()

    def submit(self, context: RunContext) -> None:
        context.ticket = self._scheduler.schedule(self._work, context, priority=context.run.order_key)

    def take_back(self, context: RunContext) -> bool:
        """True: the function has not started and never will."""
        return context.ticket.cancel()

    def stop(self) -> None:
        """Start nothing more. A function that still runs is not waited for: its thread ends with the process."""
        self._scheduler.stop(timeout=0)

    def _work(self, context: RunContext) -> None:
        outcome = None
        try:
            if self._may_start(context):
                context.has_started = True
                connections.watch()
                outcome = execute(context)
                connections.tidy()
        finally:
            if os.getpid() != self._pid:
                os._exit(
                    0
                )  # a fork that its function let return: it must not go on as a worker with a copy of the heap
            self._deliver(context, outcome)
