"""Task functions for tests. Each name begins with the area whose tests use it."""

import os
import time
from datetime import date, timedelta

import jobs

lifecycle_notes = []  # what the functions of that area were called with, in order


@jobs.register
def lifecycle_note(what):
    lifecycle_notes.append(what)
    return what


@jobs.register
def lifecycle_add(a: int, b: int = 1) -> int:
    return a + b


@jobs.register
def lifecycle_shift(day: date, by: timedelta = timedelta(days=1)) -> date:
    return day + by


@jobs.register(priority=7, queue="side", on_lost="fail", max_losses=2)
def lifecycle_with_options(): ...


@jobs.register(unique_key="the only one")
def lifecycle_single(number: int = 0) -> int:
    return number


@jobs.register
def lifecycle_fail(message: str = "no"):
    lifecycle_notes.append(message)
    raise ValueError(message)


@jobs.register
def lifecycle_return(what: str):
    from tests.parameters.unstorable import UNSTORABLE

    lifecycle_notes.append(what)
    return UNSTORABLE[what]


@jobs.register
def lifecycle_odd_names(self, args, name=None):
    return [self, args, name]


@jobs.register(label="Greet", priority=4)
def admin_greet(name: str, times: int = 1, options: dict | None = None) -> str:
    """Greet somebody by name."""
    return " ".join([f"Hello {name}."] * times)


@jobs.register(unique_key="the only greeting")
def admin_single() -> None: ...


@jobs.register
def admin_fail(message: str) -> None:
    raise ValueError(message)


@jobs.register
def admin_with_secret(user: str, api_token: str, more: dict | None = None) -> dict:
    return {"account": user, "session": {"password": api_token}}


def _runtime_mark(word):
    """Leave a line for this execution in a file beside the database: run, attempt, process, word."""
    run = jobs.current_run()
    file = os.open(os.environ["RUNTIME_MARKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{run.id} {run.attempt} {os.getpid()} {word}\n".encode())
    os.close(file)


@jobs.register
def runtime_mark() -> int:
    _runtime_mark("begun")
    return os.getpid()


@jobs.register
def runtime_hold() -> int:
    """Work until the test opens the gate for all, or for this attempt."""
    _runtime_mark("begun")
    gate = os.environ["RUNTIME_MARKS"] + ".gate"
    gates = [gate, f"{gate}.{jobs.current_run().attempt}"]
    deadline = time.monotonic() + 120
    while not any(map(os.path.exists, gates)) and time.monotonic() < deadline:
        time.sleep(0.01)
    _runtime_mark("ended")
    return os.getpid()


@jobs.register
def runtime_die():
    """End the process as the kernel does when memory is short."""
    _runtime_mark("begun")
    os._exit(137)


@jobs.register
def runtime_nothing(): ...


@jobs.register
def runtime_fail():
    raise ValueError("no")


from tests import tasks_of_executors as _of_all_executors  # noqa: E402, F401 - registers them
