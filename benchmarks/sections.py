"""Where the time of a worker goes: its steps wrapped in stopwatches. For `python -m benchmarks.drain --profile`.

No sampling and no tracing: a sampler that needs the interpreter's lock sees a thread mostly where it gives that lock
away, and cProfile counts the calls of all threads as one. A step's own time leaves out the steps inside it. Wall time
beyond CPU time is waiting: for the interpreter's lock, for the disk, or, in `wait`, for work.
"""

import functools
import threading
import time
from collections import defaultdict
from importlib import import_module

# (thread, name that is shown, where the function is found)
STEPS = (
    ("dispatcher", "cycle, the rest", "jobs.runtime.dispatcher:Dispatcher.cycle"),
    ("dispatcher", "gather outcomes", "jobs.runtime.hold:Hold.gather"),
    ("dispatcher", "look for work", "jobs.runtime.dispatcher:Dispatcher._is_anything_to_do"),
    ("dispatcher", "BEGIN", "django.db.transaction:Atomic.__enter__"),
    ("dispatcher", "write outcomes", "jobs.runtime.dispatcher:finish"),
    ("dispatcher", "what is due", "jobs.runtime.agenda:Agenda.act"),
    ("dispatcher", "claim", "jobs.lifecycle.claim:claim"),
    ("dispatcher", "release", "jobs.lifecycle.claim:release"),
    ("dispatcher", "COMMIT", "django.db.transaction:Atomic.__exit__"),
    ("dispatcher", "hand over to threads", "jobs.runtime.hold:Hold.admit"),
    ("dispatcher", "wait", "jobs.runtime.wakeups:Wakeup.wait"),
    ("threads", "take from the heap, wait", "jobs.core.priority:PriorityScheduler._take"),
    ("threads", "execute, the rest", "jobs.runtime.executors.threads:execute"),
    ("threads", "the function", "benchmarks.tasks:note.func"),
    ("threads", "tidy connections", "jobs.runtime.connections:tidy"),
    ("threads", "deliver", "jobs.runtime.hold:Hold.deliver"),
)


class _Thread(threading.local):
    """The stack of open steps of a thread, and what its steps have taken."""

    def __init__(self):
        self.open = []
        self.taken = defaultdict(lambda: [0, 0.0, 0.0])
        _all.append(self.taken)


_all: list[dict] = []
_thread = _Thread()


def _watch(function, key: tuple[str, str]):
    @functools.wraps(function)
    def watched(*args, **kwargs):
        inside = [0.0, 0.0]
        _thread.open.append(inside)
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
            _thread.open.pop()
            if _thread.open:
                _thread.open[-1][0] += wall
                _thread.open[-1][1] += cpu
            taken = _thread.taken[key]
            taken[0] += 1
            taken[1] += wall - inside[0]
            taken[2] += cpu - inside[1]

    return watched


def install() -> None:
    """Wrap the steps, from now on. Costs about 1.5 microseconds a call, so shares say more than sums."""
    for thread, name, path in STEPS:
        module, _, attributes = path.partition(":")
        *owners, attribute = attributes.split(".")
        owner = functools.reduce(getattr, owners, import_module(module))
        setattr(owner, attribute, _watch(getattr(owner, attribute), (thread, name)))


def taken() -> list[tuple[str, str, int, float, float]]:
    """(thread, step, calls, wall seconds, CPU seconds), summed over the threads of one kind, in the order of STEPS."""
    rows = []
    for thread, name, _ in STEPS:
        parts = [part[thread, name] for part in _all if (thread, name) in part]
        if parts:
            rows.append((thread, name, *map(sum, zip(*parts, strict=True))))
    return rows
