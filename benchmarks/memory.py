"""The PriorityScheduler beside the barest loop that does the same work. Run: python -m benchmarks.memory

Both are measured in turn, round by round, so that a change of the machine's mood meets both alike; the medians and
their ratio are printed. The goal is a ratio of at most 1.5. The garbage collector has a table of its own: what it adds
depends on how many Futures wait at a time, and so on how well the producer keeps ahead of the worker. Times are those
of the processor, so that other work on the machine does not count; those of the hand-off are the clock's.
"""

import gc
from collections.abc import Callable
from concurrent.futures import Future
from heapq import heappop, heappush
from itertools import count
from random import Random
from statistics import median, quantiles
from threading import Condition, Event, Thread
from time import perf_counter, process_time, sleep

from jobs.core import PriorityScheduler

TASKS = 20_000
ROUNDS = 15
HAND_OFFS = 2_000
MANY = 1_000_000


class BarestLoop:
    """A heap, a Condition and a Future per item; nothing counted, nothing logged, no cancel, no stop but the end."""

    def __init__(self):
        self.heap = []
        self.changed = Condition()
        self.sequence = count()

    def schedule(self, func: Callable, priority: int) -> Future:
        future = Future()
        with self.changed:
            heappush(self.heap, (priority, next(self.sequence), func, future))
            self.changed.notify()
        return future

    def start(self) -> None:
        self.thread = Thread(target=self.work)
        self.thread.start()

    def stop(self, drain: bool) -> None:
        self.schedule(None, float("inf"))
        self.thread.join()

    def work(self) -> None:
        while True:
            with self.changed:
                while not self.heap:
                    self.changed.wait()
                _, _, func, future = heappop(self.heap)
            if func is None:
                return
            future.set_result(func())


def no_op() -> None:
    pass


def prefilled(scheduler, priorities: list[int]) -> dict[str, float]:
    """Seconds to schedule everything before the start, and to run it."""
    began = process_time()
    for priority in priorities:
        scheduler.schedule(no_op, priority)
    filled = process_time()
    scheduler.start()
    scheduler.stop(drain=True)
    return {"schedule": filled - began, "run": process_time() - filled}


def live(scheduler, priorities: list[int]) -> dict[str, float]:
    """Seconds to schedule everything while the worker runs it, until the last has ended."""
    scheduler.start()
    began = process_time()
    for priority in priorities:
        scheduler.schedule(no_op, priority)
    scheduler.stop(drain=True)
    return {"live producer": process_time() - began}


def measure(make: Callable, priorities: list[int], collects: bool) -> dict[str, float]:
    gc.collect()
    if not collects:
        gc.disable()
    try:
        return prefilled(make(), priorities) | live(make(), priorities)
    finally:
        gc.enable()


def compare(collects: bool) -> None:
    random = Random(1)
    priorities = [random.randint(-100, 100) for _ in range(TASKS)]
    rounds = [[measure(make, priorities, collects) for make in (BarestLoop, PriorityScheduler)] for _ in range(ROUNDS)]
    print(
        f"{TASKS:,} no-op tasks, garbage collection {'on' if collects else 'off'}, "
        f"median of {ROUNDS} rounds, microseconds per task"
    )
    for step in rounds[0][0]:
        barest = median(bare[step] for bare, _ in rounds) / TASKS * 1e6
        ours = median(our[step] for _, our in rounds) / TASKS * 1e6
        print(f"{step:>14}: barest loop {barest:6.2f}   PriorityScheduler {ours:6.2f}   ratio {ours / barest:.2f}")


def hand_off() -> None:
    """From schedule() to the first line of the task, while the worker sleeps."""
    delays = []
    started = Event()

    def task(scheduled: float) -> None:
        delays.append(perf_counter() - scheduled)
        started.set()

    with PriorityScheduler() as scheduler:
        for _ in range(HAND_OFFS):
            started.clear()
            sleep(0.001)  # let the worker go to sleep again
            scheduler.schedule(task, 0, perf_counter())
            started.wait()
    percentiles = quantiles(delays, n=100)
    print(f"hand-off to a sleeping worker: p50 {percentiles[49] * 1e6:.0f} us, p99 {percentiles[98] * 1e6:.0f} us")


def many() -> None:
    random = Random(1)
    seconds = prefilled(PriorityScheduler(), [random.randint(-100, 100) for _ in range(MANY)])
    print(f"{MANY:,} tasks at once: scheduled in {seconds['schedule']:.1f} s, run in {seconds['run']:.1f} s")


if __name__ == "__main__":
    compare(collects=False)
    compare(collects=True)
    hand_off()
    many()
