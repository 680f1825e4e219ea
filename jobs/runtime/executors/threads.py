"""Functions in threads of this process: the PriorityScheduler with order keys as priorities."""

import os
from collections.abc import Callable

from jobs.core.crew import Crew, Seat
from jobs.core.priority import PriorityScheduler
from jobs.lifecycle.outcome import Outcome
from jobs.options import PROCESSES, THREADS
from jobs.registry import registry
from jobs.runtime import connections
from jobs.runtime.context import RunContext
from jobs.runtime.execute import execute
from jobs.runtime.executors.processes import Children


class ThreadsExecutor:
    """`deliver(context, outcome)` is called in the function's thread; outcome None means that it was not started.

    `may_start(context)` is asked just before a function starts. `children` executes those that are to have a process of
    their own, each with one of the threads.
    """

    can_look_ahead = True

    def __init__(self, threads: int, *, default: str = THREADS, children: Children | None = None):
        self.threads = threads
        self.name = self._default = default
        self._children = children
        self._scheduler = PriorityScheduler(threads=threads)
        self._crew = Crew(threads)

    def start(self, *, may_start: Callable[[RunContext], bool], deliver: Callable[[RunContext, Outcome | None], None]):
        self._pid = os.getpid()
        self._may_start = may_start
        self._deliver = deliver
        connections.begin_watching()
        self._scheduler.start()

    def submit(self, context: RunContext) -> None:
        context.seat = Seat(self._crew, context.id)
        context.ticket = self._scheduler.schedule(self._work, context, priority=context.run.order_key)

    def take_back(self, context: RunContext) -> bool:
        """True: the function has not started and never will."""
        return context.ticket.cancel()

    def stop(self) -> None:
        """Start nothing more. A function that still runs is not waited for: its thread ends with the process."""
        self._scheduler.stop(timeout=0)
        if self._children is not None:
            self._children.stop()

    def _execute(self, context: RunContext) -> Outcome:
        is_for_child = self._children is not None and (context.run.executor or self._default) == PROCESSES
        if is_for_child and context.task in registry:  # else it fails without a process
            return self._children.execute(context)
        return execute(context)

    def _work(self, context: RunContext) -> None:
        outcome = None
        try:
            if self._may_start(context):
                context.has_started = True
                connections.watch()
                outcome = self._execute(context)
                connections.tidy(was_cut_short=context.was_cut_short)
        finally:
            # A fork that its function let return must not go on as a worker with a copy of the heap.
            if os.getpid() != self._pid:
                os._exit(0)
            self._deliver(context, outcome)
