"""What a function prints is in the log of its run, and nowhere else; what others print is where it always was."""

# ruff: noqa: T201

import contextlib
import io
import logging
import sys
from threading import Barrier, Thread

import pytest

from jobs.models import RunLog
from jobs.runtime import capture
from jobs.runtime.capture import RunLogStream, RunStdout
from jobs.testing import drain
from tests.runtime.support import PATIENCE, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


class Console(io.StringIO):
    """The standard output of a test's process."""

    def install(self):
        sys.stdout = self


@pytest.fixture
def console():
    """`install()` it in the test itself: pytest puts its own streams back between set-up and test."""
    before = sys.stdout
    yield Console()
    sys.stdout = before


@pytest.fixture
def capturing(start, console):
    """Start a scheduler that captures."""

    def begin(**options):
        if not isinstance(sys.stdout, RunStdout):
            console.install()
        scheduler = start(**{"kind": "runscheduler"} | options)
        wait_until(lambda: isinstance(sys.stdout, RunStdout))
        return scheduler

    return begin


def log_of(run) -> str:
    return "".join(RunLog.objects.filter(run=run).order_by("pk").values_list("text", flat=True))


def test_it_is_in_the_log_of_its_run_and_not_on_the_console(capturing, console, task):
    returned = []

    @task
    def talk(name: str):
        print("hello", name, flush=True)
        print("no", "newline", end="")
        print(" yet")
        returned.append(sys.stdout.write("left open"))
        sys.stdout.writelines([" and", " on"])

    runs = [talk.enqueue(name) for name in ("Ada", "Bob")]
    capturing()
    for run in runs:
        run.wait(PATIENCE)
    assert [log_of(run) for run in runs] == [
        f"hello {name}\nno newline yet\nleft open and on\n" for name in ("Ada", "Bob")
    ]
    assert returned == [9, 9]
    assert console.getvalue() == ""


def test_what_others_print_goes_to_the_console(capturing, console, task, gate):
    @task
    def talk():
        print("mine")
        gate()

    run = talk.enqueue()
    capturing()
    gate.wait_until_entered()
    stranger = Thread(target=print, args=["a thread's"])
    stranger.start()
    stranger.join()
    print("the test's")
    gate.open()
    run.wait(PATIENCE)
    assert log_of(run) == "mine\n"
    assert console.getvalue() == "a thread's\nthe test's\n"


def test_two_runs_at_once_keep_apart(capturing, task):
    meeting = Barrier(2)

    @task
    def talk(name: str):
        for number in range(20):
            meeting.wait(PATIENCE)
            print(name, end=" ")
            meeting.wait(PATIENCE)
            print(number)

    runs = [talk.enqueue(name) for name in ("a", "b")]
    capturing(threads=2)
    for run in runs:
        run.wait(PATIENCE)
    assert [log_of(run) for run in runs] == ["".join(f"{name} {n}\n" for n in range(20)) for name in "ab"]


@pytest.mark.parametrize(
    ("kind", "setting", "is_captured"),
    [
        ("runscheduler", None, True),
        ("web", None, False),
        ("web", True, True),
        ("runscheduler", False, False),
    ],
)
def test_the_setting_and_the_kind_decide(start, console, settings, task, kind, setting, is_captured):
    settings.JOBS = {**settings.JOBS, "CAPTURE_PRINTS": setting}

    @task
    def talk():
        print("hello")

    run = talk.enqueue()
    console.install()
    scheduler = start(kind=kind)
    run.wait(PATIENCE)
    scheduler.stop(0)
    assert log_of(run) == ("hello\n" if is_captured else "")
    assert console.getvalue() == ("" if is_captured else "hello\n")


def test_the_stream_is_taken_away_with_the_last_scheduler(capturing, console):
    first = capturing()
    second = capturing()
    wait_until(lambda: capture._prints._users == 2)
    first.stop(0)
    assert isinstance(sys.stdout, RunStdout)
    second.stop(0)
    assert sys.stdout is console


def test_one_that_somebody_has_put_over_it_stays(capturing, console):
    scheduler, other = capturing(), io.StringIO()
    with contextlib.redirect_stdout(other):
        scheduler.stop(0)
        assert sys.stdout is other
    assert isinstance(sys.stdout, RunStdout)  # put back by who had taken it; it writes on
    print("on")
    assert console.getvalue() == "on\n"


def test_a_log_handler_that_writes_to_stdout_writes_no_record_twice(capturing, console, task):
    """One that holds the real stream, and one that was made while the other was there."""
    logger = logging.getLogger("tests.runtime.prints")
    logger.setLevel(logging.INFO)
    before = logging.StreamHandler(console)

    @task
    def talk():
        during = logging.StreamHandler(sys.stdout)
        logger.addHandler(during)
        logger.info("a record")
        logger.removeHandler(during)
        print("a print")

    run = talk.enqueue()
    logger.addHandler(before)
    try:
        capturing()
        run.wait(PATIENCE)
    finally:
        logger.removeHandler(before)
    first, second = log_of(run).splitlines()
    assert first.endswith("INFO tests.runtime.prints: a record")
    assert second == "a print"
    assert console.getvalue() == "a record\n" * 2


def test_stderr_is_left_alone(capturing, console, task, monkeypatch):
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)

    @task
    def complain():
        print("oh", file=sys.stderr)

    run = complain.enqueue()
    capturing()
    run.wait(PATIENCE)
    assert (log_of(run), errors.getvalue()) == ("", "oh\n")


def test_for_everybody_else_it_is_the_stream_that_it_stands_for(tmp_path):
    with (tmp_path / "out").open("w", encoding="latin-1") as real:
        stream = RunStdout(real)
        assert isinstance(stream, io.TextIOBase)
        assert (stream.encoding, stream.errors, stream.newlines) == ("latin-1", "strict", None)
        assert (stream.fileno(), stream.isatty(), stream.writable()) == (real.fileno(), False, True)
        assert (stream.readable(), stream.seekable()) == (False, False)
        assert stream.buffer is real.buffer
        assert stream.name == real.name
        assert stream.write("é") == 1
        stream.writelines(["a", "b\n"])
        print("c", file=stream, flush=True)
        assert (tmp_path / "out").read_bytes() == "éab\nc\n".encode("latin-1")
        stream.reconfigure(errors="replace")
        assert stream.errors == "replace"
        with pytest.raises(TypeError):
            stream.write(b"bytes")
        stream.close()
        del stream
        assert not real.closed


def test_in_a_run_only_text_can_be_printed(capturing, task):
    @task
    def talk():
        sys.stdout.write(b"bytes")

    run = talk.enqueue()
    capturing()
    assert run.wait(PATIENCE).state == "failed"
    assert "write() argument must be str, not bytes" in run.reason


class TestStream:
    """For those who want a stream to write to, whatever is captured."""

    def test_it_writes_to_the_log_of_the_run(self, console, task):
        stream = RunLogStream()

        @task
        def talk():
            print("one", file=stream, flush=True)
            stream.write("two")

        run = talk.enqueue()
        console.install()
        drain()
        assert log_of(run) == "one\ntwo\n"
        assert console.getvalue() == ""

    def test_outside_of_runs_it_is_the_standard_output(self, console):
        console.install()
        print("one", file=RunLogStream(), flush=True)
        assert console.getvalue() == "one\n"

    def test_a_management_command_can_write_to_it(self, task):
        from django.core.management import call_command

        @task
        def check():
            call_command("check", stdout=RunLogStream())

        run = check.enqueue()
        drain()
        assert log_of(run) == "System check identified no issues (0 silenced).\n"
