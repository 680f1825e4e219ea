"""First in, first out: a queue and one worker thread."""

from collections.abc import Callable
from concurrent.futures import Future
from queue import Queue
from threading import Thread, current_thread
from typing import Any

from jobs.core.task import RESTART_FROM_INSIDE, Scheduler, Task, execute

_STOP = object()


class FIFOScheduler(Scheduler):
    """Run functions one after the other, in the order in which they were scheduled.

    `name` is the prefix of the worker thread's name.
    """

    def __init__(self, name: str = "jobs-worker"):
        super().__init__(threads=1)
        self._name = name
        self._queue: Queue = Queue()
        self._thread: Thread | None = None
        self._sentinels = 0  # in the queue; some, while a stop is under way

    def schedule(self, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Have `func(*args, **kwargs)` called by the worker, and return the Future of the outcome.

        Allowed at any time: what comes before `start()` or after `stop()` waits for the next start.
        Raises TypeError when `func` cannot be called.
        """
        task = Task(self, func, args, kwargs)
        self._queue.put(task)
        return task

    def start(self) -> None:
        """Start the worker, unless it works already. While a stop is under way, wait for its end first.

        Raises RuntimeError when a task of this scheduler calls it during a stop (the stop waits for that task), and
        when the system has no thread left to give.
        """
        while True:
            with self._lock:
                thread = self._thread
                if thread is None:
                    self._launch()
                    return
                if not self._sentinels:
                    return
                if thread is current_thread():
                    raise RuntimeError(RESTART_FROM_INSIDE)
            thread.join()

    def stop(self, timeout: float | None = None) -> bool:
        """Finish everything scheduled before, then end the worker. What is scheduled later waits for the next start.

        Returns whether it has stopped: False when `timeout` seconds were too short or a task of this scheduler calls
        it, which cannot wait for itself. The stop goes on then.
        """
        with self._lock:
            thread = self._thread
            if thread is None:
                return True
            self._sentinels += 1
            self._queue.put(_STOP)
        if thread is current_thread():
            return False
        thread.join(timeout)
        return not thread.is_alive()

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def _launch(self) -> None:
        thread = Thread(target=self._work, name=f"{self._name}-1", daemon=True)
        thread.start()  # first: if that fails, nothing has changed
        self._thread = thread

    def _work(self) -> None:
        (tally,) = self._tallies
        while True:
            task = self._queue.get()
            if task is not _STOP:
                if self._withdraw(task):
                    execute(task, tally)
            elif self._is_last_sentinel():
                return
            del task  # an idle worker keeps nothing alive

    def _withdraw(self, task: Task) -> bool:
        with self._lock:
            was_waiting, task.is_waiting = task.is_waiting, False
            return was_waiting

    def _is_last_sentinel(self) -> bool:
        """A stop that came later has its own: it waits for what was scheduled before it, too. Takes the lock."""
        with self._lock:
            self._sentinels -= 1
            if self._sentinels:
                return False
            self._thread = None
            return True
