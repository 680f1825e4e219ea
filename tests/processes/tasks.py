"""Task functions that the tests of processes start, for those processes and the test that imports them."""

# ruff: noqa: T201

import contextlib
import ctypes
import logging
import multiprocessing
import os
import signal
import threading
import time

import jobs
from jobs.models import Worker
from tests.processes.claim_record import recorded_work  # noqa: F401 - a task function of theirs as well
from tests.tasks import _runtime_mark, runtime_hold

logger = logging.getLogger(__name__)


@jobs.register
def flood(lines: int, length: int, message_length: int):
    """Print many lines, then raise a giant message through five exceptions."""
    for number in range(lines):
        print(f"line {number} ".ljust(length, "x"))
    try:
        raise_through(5, "m" * message_length + " the end")
    except RuntimeError as error:
        raise ValueError(error.args[0]) from error


def raise_through(depth: int, message: str):
    try:
        if depth > 1:
            raise_through(depth - 1, message)
    except RuntimeError as error:
        raise RuntimeError(message) from error
    raise RuntimeError(message)


@jobs.register
def return_much(length: int) -> str:
    return "x" * length


@jobs.register
def return_many(number: int) -> list[str]:
    return ["x" * 1000] * number


@jobs.register
def log_one_line(length: int):
    logger.warning("begin" + "x" * length + "end")


@jobs.register
def print_one_line(length: int):
    print("begin", end="")
    print("x" * length, end="")
    print("end")


def _look(answers):
    from jobs.runtime import scheduler

    answers.put([os.getpid(), scheduler.current() is not None])


@jobs.register
def use_multiprocessing() -> list:
    """What a child that was forked in the middle of a run is like: its number, and whether it has a scheduler."""
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_look, args=[answers])
    child.start()
    answer = answers.get()
    child.join()
    return answer


def _call_and_keep_the_gil(name: str, *arguments) -> None:
    """Call a function of C as an extension does that never lets go of the interpreter: no other thread of the process
    can do anything meanwhile."""
    getattr(ctypes.PyDLL(None), name)(*arguments)


@jobs.register
def take_a_signal(number: int):
    """Get a signal that is meant for the process: the system gives it to any thread."""
    signal.pthread_kill(threading.get_ident(), number)
    _runtime_mark("begun")


@jobs.register
def hold_the_gil(stretches: int, seconds: float):
    _runtime_mark("begun")
    for _ in range(stretches):
        _call_and_keep_the_gil("poll", None, 0, round(seconds * 1000))
        time.sleep(1.0)  # long enough for a sign of life, on a slow machine as well
    _runtime_mark("ended")


@jobs.register
def hold_the_gil_once() -> int:
    """The first execution stops its whole process until somebody opens the pipe; the next ones wait at the gate."""
    if jobs.current_run().attempt > 1:
        return runtime_hold()
    _runtime_mark("begun")
    _call_and_keep_the_gil("open", (os.environ["RUNTIME_MARKS"] + ".fifo").encode(), os.O_RDONLY)
    _runtime_mark("ended")
    return os.getpid()


@jobs.register
def query_and_mark():
    """Use the database as functions do."""
    _runtime_mark("begun")
    Worker.objects.count()


@jobs.register
def work_shortly():
    _runtime_mark("begun")
    time.sleep(0.02)


@jobs.register(executor="processes")
def end_own_process(how: int) -> int:
    """End by this exit code, or by this signal if it is negative."""
    _runtime_mark("begun")
    if how < 0:
        os.kill(os.getpid(), -how)
    os._exit(how)


@jobs.register(executor="processes")
def listen_to_nobody() -> None:
    """Work on, with a process of its own, whatever one tells it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    helper = multiprocessing.get_context("fork").Process(target=time.sleep, args=(120,))
    helper.start()
    _runtime_mark(f"helper:{helper.pid}")
    _runtime_mark("begun")
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(120)


@jobs.register(executor="processes")
def take_memory(megabytes: int) -> int:
    return len(bytearray(megabytes * 2**20))


_calls = 0


@jobs.register(executor="processes")
def count_calls() -> list[int]:
    """How often it was called in this process, which that is, and how many schedulers are at work in it."""
    global _calls
    _calls += 1
    dispatchers = [thread.name for thread in threading.enumerate() if thread.name.startswith("jobs-dispatcher")]
    return [_calls, os.getpid(), len(dispatchers)]
