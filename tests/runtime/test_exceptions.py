"""Whatever a function raises ends its run and nothing else: the thread lives, and the next run succeeds."""

import asyncio
import logging
import sys
from threading import current_thread

import pytest

from jobs.models import Attempt
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


class Custom(BaseException):
    pass


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Nasty(Exception):
    """Its text ends the process, if one lets it."""

    def __str__(self):
        raise SystemExit(3)


def raising(error):
    def function():
        raise error

    return function


def recurse():
    recurse()


def ask_for_all_memory():
    return bytearray(2**62)  # more than any address space


def quit_the_interpreter():
    quit()


def chain():
    try:
        raise KeyError("first")
    except KeyError as error:
        raise ValueError("second") from error


async def raise_late():
    await asyncio.sleep(0)
    raise ValueError("late")


# What is raised: class and text in the run's reason, and a line of its traceback.
CASES = {
    "sys.exit(0)": (lambda: sys.exit(0), "SystemExit", "0", "sys.exit(0)"),
    "sys.exit(text)": (lambda: sys.exit("boom"), "SystemExit", "boom", "sys.exit"),
    "KeyboardInterrupt": (raising(KeyboardInterrupt()), "KeyboardInterrupt", "", "raise error"),
    "GeneratorExit": (raising(GeneratorExit()), "GeneratorExit", "", "raise error"),
    "CancelledError": (raising(asyncio.CancelledError()), "asyncio.exceptions.CancelledError", "", "raise error"),
    "Custom": (raising(Custom("own")), "tests.runtime.test_exceptions.Custom", "own", "raise error"),
    "recursion": (recurse, "RecursionError", "maximum recursion depth", "previous line repeated"),
    "memory": (ask_for_all_memory, "MemoryError", "", "bytearray(2**62)"),
    "quit()": (quit_the_interpreter, "SystemExit", "", "quit()"),
    "no text": (raising(Unspeakable()), "tests.runtime.test_exceptions.Unspeakable", "RuntimeError", "raise error"),
    "nasty text": (raising(Nasty()), "tests.runtime.test_exceptions.Nasty", "SystemExit", "raise error"),
    "a chain": (chain, "ValueError", "second", "KeyError: 'first'"),
    "StopIteration": (raising(StopIteration("end")), "StopIteration", "end", "raise error"),
    "a coroutine": (raise_late, "ValueError", "late", "raise ValueError"),
    "a group": (raising(ExceptionGroup("many", [ValueError(1)])), "ExceptionGroup", "many", "raise error"),
    "TimeoutError": (raising(TimeoutError("mine")), "TimeoutError", "mine", "raise error"),
}


@pytest.mark.filterwarnings("error::RuntimeWarning", "error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("body", "error_class", "text", "line"), CASES.values(), ids=CASES)
def test_it_fails_its_run_and_the_next_one_succeeds(start, task, body, error_class, text, line):
    threads = []

    @task
    def bad():
        threads.append(current_thread())
        return body()

    @task
    def ok():
        threads.append(current_thread())

    runs = [bad.enqueue(), ok.enqueue()]
    scheduler = start(threads=1)
    for run in runs:
        run.wait(PATIENCE)
    bad_run, ok_run = runs
    assert (bad_run.state, bad_run.reason_code, bad_run.failures) == ("failed", "function_raised", 1)
    assert bad_run.reason.startswith(f"The function raised {error_class}: ")
    attempt = Attempt.objects.get(run=bad_run)
    assert attempt.error_class == error_class
    assert text in attempt.message
    assert line.lower() in attempt.traceback.lower()
    assert len(attempt.traceback) < 40_000
    assert ok_run.state == "succeeded"
    assert threads[0] is threads[1]
    assert not scheduler.stopped.is_set()


def test_the_traceback_begins_in_the_function(start, task):
    """Nobody wants to read how a job system calls functions."""

    @task
    def bad():
        raise ValueError("here")

    run = bad.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    lines = Attempt.objects.get(run=run).traceback.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].strip().startswith(f'File "{__file__}"')
    assert lines[-1] == "ValueError: here"


def test_a_traceback_holds_no_local_variables(start, task):
    @task
    def bad():
        password = "S3CR" + "3T"
        raise ValueError(len(password))

    run = bad.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert "S3CR3T" not in Attempt.objects.get(run=run).traceback


@pytest.mark.parametrize("length", [10_000, 5_000_000])
def test_a_giant_message_is_shortened_and_keeps_its_end(start, task, length):
    @task
    def bad():
        raise ValueError("x" * length + " the end")

    run = bad.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    attempt = Attempt.objects.get(run=run)
    assert attempt.message.endswith(" the end")
    assert "characters left out" in attempt.message
    assert len(attempt.message) < 5_000
    assert len(attempt.traceback) < 40_000
    assert len(run.reason) < 500


def test_text_that_databases_refuse_is_made_visible(start, task):
    @task
    def bad():
        raise ValueError("a\x00b\ud800c 🐝")

    run = bad.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert Attempt.objects.get(run=run).message == "a\\x00b\\ud800c 🐝"


class Raising(logging.Handler):
    def emit(self, record):
        raise SystemExit("the log server is away")


def test_a_log_handler_that_raises_costs_neither_outcome_nor_thread(start, task, ok):
    @task
    def bad():
        raise ValueError("no")

    logger, handler = logging.getLogger("jobs"), Raising()
    logger.addHandler(handler)
    try:
        runs = [bad.enqueue(), ok.enqueue()]
        scheduler = start(threads=1)
        for run in runs:
            run.wait(PATIENCE)
        assert [run.state for run in runs] == ["failed", "succeeded"]
        assert not scheduler.stopped.is_set()
    finally:
        logger.removeHandler(handler)
