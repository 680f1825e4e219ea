"""What `benchmarks.order` observes: producers and a worker at the same time."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from random import Random
from statistics import mean
from threading import Event, Thread

from benchmarks import site
from benchmarks.sweep import Absence, Enqueued
from benchmarks.turns import Ready

PRODUCERS = 8
PRIORITIES = range(-100, 101, 10)  # 21 levels, so that each has enough runs to be compared inside it
# How many milliseconds a run takes: one of these at random.
MIXED = range(1, 51)
CHEAP = (0,) * 19 + (50,)
LONG = range(1, 201)
# Signs of life so short that the death of a worker is seen within seconds.
SHORT = {"HEARTBEAT_SECONDS": 0.3, "LOST_AFTER_SECONDS": 2.0}

# What a worker offers to do half way; a kill returns its moment.
Action = Callable[[], int | None]


@dataclass
class Case:
    name: str
    worker: Callable[[int], AbstractContextManager[Action]]
    milliseconds: range | tuple[int, ...]
    count: int
    has_half_way: bool = False
    busy: bool = False
    processes: int = 1
    threads: tuple[int, ...] = (1, 4)  # of each process; one after the other


class Producers:
    """Eight threads that together enqueue `count` runs within about `seconds`, each at random moments."""

    def __init__(self, case: Case, count: int, seconds: float):
        self.enqueued: list[Enqueued] = []
        self.ready: list[Ready] = []
        self._case = case
        self._pause = seconds * PRODUCERS / count
        shares = [range(producer, count, PRODUCERS) for producer in range(PRODUCERS)]
        self._threads = [Thread(target=self._produce, args=each) for each in enumerate(shares)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _produce(self, producer: int, numbers: range) -> None:
        from django.db import connection

        from benchmarks.tasks import work

        random = Random(producer)
        for number in numbers:
            time.sleep(random.expovariate(1 / self._pause))
            priority, milliseconds = random.choice(PRIORITIES), random.choice(self._case.milliseconds)
            task = work.using(priority=priority)
            began = time.monotonic_ns()
            run = task.enqueue(number=number, milliseconds=milliseconds, busy=self._case.busy)
            returned = time.monotonic_ns()
            self.enqueued.append(Enqueued(number, priority, began, returned))
            self.ready.append(Ready(run.pk, run.order_key, returned))
        connection.close()


class Stall:
    """Within the block, a thread that only sleeps; `worst` is for how long it was held up at most, in nanoseconds: by
    other processes on this machine, or by the other threads of this one."""

    SLEEP_SECONDS = 0.002

    def __init__(self):
        self.worst = 0
        self._is_over = Event()
        self._thread = Thread(target=self._watch)

    def __enter__(self) -> "Stall":
        self._thread.start()
        return self

    def __exit__(self, *exc_info) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        before = time.monotonic_ns()
        while not self._is_over.is_set():
            time.sleep(self.SLEEP_SECONDS)
            now = time.monotonic_ns()
            self.worst = max(self.worst, now - before - round(self.SLEEP_SECONDS * 1e9))
            before = now


@contextmanager
def in_this_process(threads: int) -> Iterator[Action]:
    """A worker among the producers. Half way: stop it, and start a new one."""
    from jobs.runtime import scheduler

    def restart() -> None:
        if not scheduler.stop():
            raise RuntimeError("the scheduler did not stop")
        scheduler.start(kind="benchmark", threads=threads)

    scheduler.start(kind="benchmark", threads=threads)
    try:
        yield restart
    finally:
        scheduler.stop()


@contextmanager
def in_three_processes(threads: int) -> Iterator[None]:
    """Three worker processes on one database."""
    with ExitStack() as processes:
        for _ in range(3):
            processes.enter_context(site.process("benchmarks.worker", f"--threads={threads}", "--hand-outs"))
        yield


@contextmanager
def in_a_process_of_its_own(threads: int) -> Iterator[Action]:
    """A worker process. Half way: kill it, and start another."""
    with ExitStack() as processes:

        def start():
            worker = site.process("benchmarks.worker", f"--threads={threads}", "--hand-outs", jobs=SHORT)
            return processes.enter_context(worker)

        def kill() -> int:
            first.kill()
            first.wait()
            killed_at = time.monotonic_ns()
            start()
            return killed_at

        first = start()
        yield kill


@dataclass
class Observation:
    enqueued: list[Enqueued]
    ready: list[Ready]
    killed_at: int | None  # when a worker was killed, if one was
    stall: int


def observe(case: Case, threads: int, count: int) -> Observation:
    """Let producers and worker work until all has ended."""
    site.fresh()
    (site.directory() / "claims").write_bytes(b"")
    producers = Producers(case, count, 0.5 * count * mean(case.milliseconds) / 1000 / threads / case.processes)
    killed_at = None
    with case.worker(threads) as half_way, Stall() as stall:
        producers.start()
        if case.has_half_way:
            site.wait_until(lambda: site.count_starts() >= count / 2, seconds=600, what="half of the runs started")
            killed_at = half_way()
        producers.join()
        site.wait_until(site.all_finished, seconds=600, what="all runs finished", step=0.25)
    return Observation(producers.enqueued, producers.ready, killed_at, stall.worst)


def absences(killed_at: int) -> list[Absence]:
    """The runs that the killed worker held, by the history that others wrote of them."""
    from jobs.models import Attempt

    offset = time.time_ns() - time.monotonic_ns()
    lost = Attempt.objects.filter(outcome=Attempt.Outcome.LOST).select_related("run")
    return [
        Absence(each.run.arguments["number"], killed_at, round(each.run.due_at.timestamp() * 1e9) - offset)
        for each in lost
    ]
