"""Log records find the run that they belong to."""

import logging
from contextlib import contextmanager
from threading import Thread

import pytest

from jobs.models import RunLog
from jobs.testing import drain
from tests.runtime.support import PATIENCE, wait_until

pytestmark = pytest.mark.django_db
logger = logging.getLogger("tests.runtime.capture")


@pytest.fixture(autouse=True)
def level():
    """What is written to the console of the tests does not matter; what is captured does."""
    logger.setLevel(logging.INFO)
    yield
    logger.setLevel(logging.NOTSET)


@contextmanager
def bare_root():
    """A root logger without handlers, as it is when logging was just configured anew."""
    root = logging.getLogger()
    before, root.handlers[:] = root.handlers[:], []
    try:
        yield
    finally:
        root.handlers[:] = before


def log_of(run) -> str:
    return "".join(RunLog.objects.filter(run=run).order_by("pk").values_list("text", flat=True))


def messages(run) -> list[str]:
    return [line.split(": ", 1)[1] for line in log_of(run).splitlines()]


def test_what_a_function_logs_is_in_the_log_of_its_run(task):
    @task
    def talk(name: str):
        logger.info("hello %s", name)
        logging.getLogger("some.library").warning("from elsewhere")

    runs = [talk.enqueue(name) for name in ("Ada", "Bob")]
    drain()
    assert [messages(run) for run in runs] == [["hello Ada", "from elsewhere"], ["hello Bob", "from elsewhere"]]
    first = log_of(runs[0]).splitlines()[0]
    assert " INFO tests.runtime.capture: hello Ada" in first


def test_levels_hold_as_everywhere(task):
    """A record below its logger's level does not exist; the run's log has no level of its own."""

    @task
    def talk():
        logger.debug("too low")
        logger.info("high enough")
        logger.setLevel(logging.DEBUG)
        logger.debug("low, but asked for")

    run = talk.enqueue()
    drain()
    assert messages(run) == ["high enough", "low, but asked for"]


def test_logging_outside_of_runs_is_in_no_log(task, ok):
    run = ok.enqueue()
    logger.warning("before")
    drain()
    logger.warning("after")
    assert log_of(run) == ""


def test_a_traceback_is_captured_with_its_record(task):
    @task
    def careful():
        try:
            raise ValueError("caught")
        except ValueError:
            logger.exception("it went wrong")

    run = careful.enqueue()
    drain()
    assert "it went wrong\nTraceback (most recent call last):" in log_of(run)
    assert log_of(run).endswith("ValueError: caught\n")


def test_logging_configured_anew_is_captured_as_well(task):
    @task
    def talk():
        logger.info("still here")

    runs = []
    with bare_root():
        for _ in range(2):  # and once, not once a handler
            runs.append(talk.enqueue())
            drain()
    assert [messages(run) for run in runs] == [["still here"]] * 2


def test_a_record_that_cannot_be_formatted_does_not_fail_the_run(task, capsys):
    @task
    def talk():
        logger.info("%d", "one")
        logger.info("goes on")

    run = talk.enqueue()
    with bare_root():
        drain()
    run.refresh_from_db()
    assert (run.state, messages(run)) == ("succeeded", ["goes on"])


def test_the_log_is_bounded_by_the_setting(task, settings):
    settings.JOBS = {**settings.JOBS, "MAX_LOG_BYTES": 1024}

    @task
    def talk():
        for number in range(1000):
            logger.info("line %d", number)

    run = talk.enqueue()
    drain()
    log = log_of(run)
    assert "line 0\n" in log
    assert "line 999\n" in log
    assert " bytes dropped …\n" in log
    assert len(log.encode()) < 1024 + 64


@pytest.mark.django_db(transaction=True)
class TestThreads:
    def test_two_runs_at_once_keep_apart(self, start, task, gate):
        from threading import Barrier

        meeting = Barrier(2)

        @task
        def talk(name: str):
            for number in range(20):
                meeting.wait(PATIENCE)
                logger.info("%s %d", name, number)

        runs = [talk.enqueue(name) for name in ("a", "b")]
        start(threads=2)
        for run in runs:
            run.wait(PATIENCE)
        assert [messages(run) for run in runs] == [[f"{name} {number}" for number in range(20)] for name in "ab"]

    def test_other_threads_of_the_process_are_not_in_it(self, start, task, gate):
        @task
        def talk():
            logger.info("mine")
            gate()

        run = talk.enqueue()
        start(threads=1)
        gate.wait_until_entered()
        stranger = Thread(target=logger.warning, args=["not mine"])
        stranger.start()
        stranger.join()
        logger.warning("not mine either")
        gate.open()
        run.wait(PATIENCE)
        assert messages(run) == ["mine"]

    def test_the_head_is_readable_while_the_function_works(self, start, task, gate):
        @task
        def talk():
            logger.info("at work")
            gate()

        run = talk.enqueue()
        start(threads=1)
        gate.wait_until_entered()
        wait_until(lambda: messages(run) == ["at work"])


def test_of_several_executions_each_has_its_own_log(by_hand, ok, clock):
    from jobs.models import Run

    run = ok.enqueue()
    dispatcher = by_hand()
    for attempt in (1, 2):
        dispatcher.cycle()
        dispatcher.executor.begin().log.write(f"execution {attempt}")
        clock.move(1)
        dispatcher.cycle()
        context = dispatcher.executor.running[0]
        if attempt == 1:
            dispatcher.executor.end(context, seconds=1.0)
            dispatcher.cycle()
            Run.objects.filter(pk=run.pk).update(state="queued", worker_id=None, losses=1)
    chunks = RunLog.objects.filter(run=run).order_by("pk").values_list("attempt", "text")
    assert list(chunks) == [(1, "execution 1\n"), (2, "execution 2\n")]


def test_a_giant_message_keeps_its_place_between_time_and_traceback(task):
    @task
    def talk():
        try:
            raise ValueError("caught")
        except ValueError:
            logger.exception("begin%send", "x" * 20_000)

    run = talk.enqueue()
    drain()
    first, second, *rest = log_of(run).splitlines()
    assert first.endswith(" ERROR tests.runtime.capture: begin" + "x" * 20_000 + "end")
    assert second == "Traceback (most recent call last):"
    assert rest[-1] == "ValueError: caught"
