"""The most urgent first: a heap and any number of worker threads."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Event, Thread, current_thread
from typing import Any

from jobs.core.heap import DRAINED, STOP, Sentinel, TaskHeap, checked_priority
from jobs.core.task import RESTART_FROM_INSIDE, Scheduler, Tally, Task, execute

_FIRST_ARGUMENT = object()


class PriorityScheduler(Scheduler):
    """Run the most urgent function next: the lowest priority number, and among equals the one scheduled first.

    `threads` (at least 1) is how many run at a time; `name` is the prefix of the threads' names.
    """

    def __init__(self, threads: int = 1, name: str = "jobs-worker"):
        super().__init__(_checked_threads(threads))
        self._name = name
        self._heap = TaskHeap()
        self._changed = Condition(self._lock)
        self._asleep = 0
        self._crew: _Crew | None = None

    @property
    def pending(self) -> int:
        """How many tasks wait for their turn; cancelled ones do not count."""
        with self._lock:
            return len(self._heap)

    def schedule(
        self, func: Callable[..., Any], /, *args: Any, priority: Any = _FIRST_ARGUMENT, **kwargs: Any
    ) -> Future:
        """Have `func` called when nothing more urgent waits, and return the Future of the outcome.

        Two forms: `schedule(func, 5, *args, **kwargs)` and `schedule(func, *args, priority=5, **kwargs)`. The
        priority is any finite number (int, float, Fraction, Decimal, ...); lower is more urgent. Allowed at any time:
        what comes before `start()` or after `stop()` waits for the next start.

        Raises TypeError when `func` cannot be called or the priority is missing or no number, ValueError when it is
        infinite or NaN.
        """
        if priority is _FIRST_ARGUMENT:
            if not args:
                raise TypeError(
                    "schedule() needs a priority: schedule(func, 5, ...) as the first argument after the function, "
                    "or schedule(func, ..., priority=5) as a keyword."
                )
            priority, args = args[0], args[1:]
        if type(priority) is not int:
            priority = checked_priority(priority)
        task = Task(self, func, args, kwargs)
        self._heap.push(priority, task)
        if self._asleep:  # who goes to sleep later looks at what has arrived first
            with self._lock:
                self._changed.notify()
        return task

    def start(self) -> None:
        """Start the threads, unless they work already. While a stop is under way, wait for its end first.

        Raises RuntimeError when a task of this scheduler calls it during a stop (the stop waits for that task), and
        when the system has no thread left to give: then none is started.
        """
        while True:
            with self._lock:
                crew = self._crew
                if crew is None:
                    self._launch()
                    return
                if self._heap.sentinel is None:
                    return
                if current_thread() in crew.threads:
                    raise RuntimeError(RESTART_FROM_INSIDE)
            crew.gone.wait()

    def stop(self, drain: bool = False, timeout: float | None = None) -> bool:
        """End the threads after their current tasks. What waits stays, and runs after the next `start()`.

        With `drain`, first run everything that waits and what is scheduled meanwhile; a plain `stop()` cuts that
        short. Returns whether it has stopped: False when `timeout` seconds were too short or a task of this scheduler
        calls it, which cannot wait for itself. The stop goes on then.
        """
        with self._lock:
            crew = self._crew
            if crew is None:
                return True
            if self._heap.sentinel is None or (self._heap.sentinel is DRAINED and not drain):
                self._set_sentinel(DRAINED if drain else STOP)
            if current_thread() in crew.threads:
                return False
        return crew.join(timeout)

    def __exit__(self, exc_type: type[BaseException] | None, *exc_info: object) -> None:
        """Drain. But when an exception leaves the block, end after the current tasks and keep the rest."""
        self.stop(drain=exc_type is None)

    def _launch(self) -> None:
        """Start a crew, whole or not at all. Expects the lock to be held."""
        self._crew = crew = _Crew(self._name, self._work, self._tallies)
        try:
            for thread in crew.threads:
                thread.start()
        except BaseException:
            self._crew = None  # those that did start see it, and go
            raise

    def _work(self, crew: "_Crew", tally: Tally) -> None:
        with self._lock:  # _launch() holds it until all have started
            if self._crew is not crew:
                return
        try:
            while task := self._take(crew):
                execute(task, tally)
                del task  # an idle worker keeps nothing alive
        finally:
            self._leave(crew)

    def _take(self, crew: "_Crew") -> Task | None:
        """Get the most urgent task, asleep until there is one. None: the caller shall leave. Takes the lock."""
        with self._lock:
            while True:
                task = self._heap.take()
                if task is STOP:
                    return None
                if task is DRAINED and crew.working - self._asleep == 1:
                    self._set_sentinel(STOP)  # no sibling works that may schedule more, or wait for what it scheduled
                elif task is DRAINED or task is None:
                    self._sleep()
                else:
                    return task

    def _sleep(self) -> None:
        """Wait for a change. Expects the lock to be held, and gives it away meanwhile."""
        self._asleep += 1
        try:
            if not self._heap.arrived:  # looked at after counting: schedule() looks in the opposite order
                self._changed.wait()
        finally:
            self._asleep -= 1

    def _leave(self, crew: "_Crew") -> None:
        """Let a thread go; the last one clears up. Takes the lock."""
        with self._lock:
            crew.working -= 1
            self._changed.notify_all()  # who drains may be the last one now
            if crew.working:
                return
            self._heap.set_sentinel(None)
            self._crew = None
        crew.gone.set()

    def _set_sentinel(self, sentinel: Sentinel) -> None:
        """Expects the lock to be held."""
        self._heap.set_sentinel(sentinel)
        self._changed.notify_all()

    def _withdraw(self, task: Task) -> bool:
        with self._lock:
            return self._heap.withdraw(task)


class _Crew:
    """The threads of one start(), until the last has left. Guarded by the scheduler's lock."""

    def __init__(self, name: str, work: Callable[["_Crew", Tally], None], tallies: list[Tally]):
        self.threads = [
            Thread(target=work, args=(self, tally), name=f"{name}-{number}", daemon=True)
            for number, tally in enumerate(tallies, start=1)
        ]
        self.working = len(self.threads)
        self.gone = Event()

    def join(self, timeout: float | None) -> bool:
        """Wait until all have ended; False when that takes longer than `timeout` seconds."""
        if not self.gone.wait(timeout):
            return False
        for thread in self.threads:
            thread.join()
        return True


def _checked_threads(threads: Any) -> int:
    if not isinstance(threads, int) or isinstance(threads, bool):
        raise TypeError(f"threads must be a whole number, at least 1; got {type(threads).__name__}.")
    if threads < 1:
        raise ValueError(f"threads must be at least 1; got {threads}.")
    return threads
