"""What both in-memory schedulers promise alike: outcomes, start, stop, cancel."""

import logging
import weakref
from concurrent.futures import CancelledError, wait
from threading import Event, Thread, current_thread
from threading import enumerate as all_threads

import pytest

from tests.core.tools import PATIENCE, Background, watch


class Oops(BaseException):
    pass


class Thing:
    """Something that can be referred to weakly."""


def boom(error):
    raise error


def recurse():
    return recurse()


ERRORS = [
    ValueError("x"),
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    StopIteration(),
    MemoryError(),
    RecursionError(),
    Oops(),
]


def workers():
    return [thread for thread in all_threads() if thread.name.startswith("jobs-worker-")]


# Outcomes


def test_the_future_gives_the_result(scheduler):
    scheduler.start()
    assert scheduler.put(divmod, 7, 2).result(PATIENCE) == (3, 1)
    assert (scheduler.succeeded, scheduler.failed) == (1, 0)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_task_that_raises_ends_only_itself(scheduler, caplog, error):
    scheduler.start()
    assert scheduler.put(boom, error).exception(PATIENCE) is error
    assert (scheduler.succeeded, scheduler.failed) == (0, 1)
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == ("jobs.core", "ERROR", "boom failed")
    assert record.exc_info[1] is error
    worker = scheduler.put(current_thread).result(PATIENCE)
    assert worker.name == "jobs-worker-1"
    assert worker.daemon


def test_endless_recursion_ends_only_its_task(scheduler):
    scheduler.start()
    assert isinstance(scheduler.put(recurse).exception(PATIENCE), RecursionError)
    assert scheduler.put(int).result(PATIENCE) == 0


def test_a_success_is_logged_for_debugging(scheduler, caplog):
    caplog.set_level(logging.DEBUG, "jobs.core")
    scheduler.start()
    scheduler.put(int).result(PATIENCE)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("DEBUG", "int succeeded")]


def test_arguments_are_not_logged(scheduler, caplog):
    caplog.set_level(logging.DEBUG, "jobs.core")
    scheduler.start()
    scheduler.put(len, "hunter2").result(PATIENCE)
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("error", [RuntimeError("full disk"), SystemExit(1)])
def test_a_log_handler_that_raises_costs_nothing(scheduler, error):
    class Broken(logging.Filter):
        def filter(self, record):
            raise error

    broken, logger = Broken(), logging.getLogger("jobs.core")
    logger.addFilter(broken)
    try:
        scheduler.start()
        assert isinstance(scheduler.put(boom, ValueError()).exception(PATIENCE), ValueError)
        assert scheduler.put(int).result(PATIENCE) == 0
    finally:
        logger.removeFilter(broken)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_callback_that_raises_ends_nothing(scheduler, gate, error):
    scheduler.start()
    scheduler.put(gate)
    future = scheduler.put(int)
    future.add_done_callback(lambda _: boom(error))
    gate.open()
    assert future.result(PATIENCE) == 0
    assert scheduler.put(int).result(PATIENCE) == 0
    assert (scheduler.succeeded, scheduler.failed) == (3, 0)


def test_an_outcome_that_somebody_else_has_set_ends_nothing(scheduler, caplog):
    future = scheduler.put(int)
    future.set_result("mine")
    scheduler.start()
    assert scheduler.put(int).result(PATIENCE) == 0
    assert future.result(0) == "mine"
    assert "Telling the outcome of int was cut short" in caplog.text


def test_who_learns_of_an_outcome_finds_it_counted(scheduler, gate):
    counts = []
    scheduler.start()
    scheduler.put(gate)
    for call in (int, recurse):
        scheduler.put(call).add_done_callback(lambda _: counts.append((scheduler.succeeded, scheduler.failed)))
    gate.open()
    scheduler.put(int).result(PATIENCE)
    assert counts == [(2, 0), (2, 1)]


def test_tasks_and_callbacks_may_schedule_more(scheduler):
    ended = Event()

    def last():
        ended.set()

    def first():
        scheduler.put(int).add_done_callback(lambda _: scheduler.put(last))

    scheduler.start()
    scheduler.put(first)
    assert ended.wait(PATIENCE)


def test_every_keyword_reaches_the_function(scheduler):
    keywords = {name: name for name in ("self", "func", "args", "kwargs", "timeout", "name", "task")}
    scheduler.start()
    assert scheduler.put(dict, **keywords).result(PATIENCE) == keywords


@pytest.mark.parametrize("func", [None, 5, "print", [print]])
def test_only_what_can_be_called_is_accepted(scheduler, func):
    with pytest.raises(TypeError, match=f"needs a function to call, got {type(func).__name__}"):
        scheduler.put(func)


def test_a_callable_without_a_name_is_fine(scheduler, caplog):
    class Nameless:
        def __call__(self):
            raise ValueError

    scheduler.start()
    scheduler.put(Nameless()).exception(PATIENCE)
    assert "Nameless failed" in caplog.text


# Start and stop


def test_tasks_wait_for_the_start_and_run_in_order(scheduler):
    ran = []
    for number in range(100):
        scheduler.put(ran.append, number)
    assert ran == []
    scheduler.start()
    scheduler.put(int).result(PATIENCE)
    assert ran == list(range(100))


def test_starting_twice_starts_one_set_of_threads(scheduler):
    before = workers()
    scheduler.start()
    scheduler.start()
    assert len(workers()) == len(before) + 1
    scheduler.stop(timeout=PATIENCE)
    assert workers() == before


def test_a_task_may_start_what_has_started(scheduler):
    scheduler.start()
    assert scheduler.put(scheduler.start).result(PATIENCE) is None


def test_stopping_what_never_started(scheduler):
    assert scheduler.stop() is True


def test_stopping_twice(scheduler):
    scheduler.start()
    assert scheduler.stop(timeout=PATIENCE) is True
    assert scheduler.stop(timeout=PATIENCE) is True


def test_stopping_a_sleeping_worker(scheduler):
    sleeper = watch(scheduler)
    scheduler.start()
    sleeper.wait_for_sleeps()
    assert scheduler.stop(timeout=PATIENCE) is True


def test_an_idle_worker_sleeps_without_a_timeout(scheduler):
    sleeper = watch(scheduler)
    scheduler.start()
    sleeper.wait_for_sleeps()
    scheduler.put(int)
    sleeper.wait_for_sleeps()
    assert sleeper.timeouts == [None, None]


def test_two_threads_stop_at_once(scheduler, gate):
    scheduler.start()
    scheduler.put(gate)
    gate.wait_until_entered()
    stops = [Background(scheduler.stop) for _ in range(2)]
    assert scheduler.stop(timeout=0) is False
    gate.open()
    assert [stop.result() for stop in stops] == [True, True]


def test_a_stop_in_time_and_out_of_time(scheduler, gate):
    scheduler.start()
    scheduler.put(gate)
    gate.wait_until_entered()
    assert scheduler.stop(timeout=0.01) is False
    gate.open()
    assert scheduler.stop(timeout=PATIENCE) is True


def test_a_task_may_stop_its_scheduler(scheduler):
    scheduler.start()
    assert scheduler.put(scheduler.stop).result(PATIENCE) is False
    assert scheduler.stop(timeout=PATIENCE) is True


def test_a_callback_may_stop_its_scheduler(scheduler, gate):
    answers = []
    scheduler.start()
    scheduler.put(gate).add_done_callback(lambda _: answers.append(scheduler.stop()))
    gate.wait_until_entered()
    gate.open()
    scheduler.put(int)
    assert scheduler.stop(timeout=PATIENCE) is True
    assert answers == [False]


def test_a_task_cannot_restart_while_it_is_waited_for(scheduler):
    def stop_and_start():
        scheduler.stop()
        scheduler.start()

    scheduler.start()
    error = scheduler.put(stop_and_start).exception(PATIENCE)
    assert isinstance(error, RuntimeError)
    assert "start() was called by a task" in str(error)


def test_a_start_during_a_stop_waits_for_it(scheduler, gate):
    scheduler.start()
    scheduler.put(gate)
    gate.wait_until_entered()
    scheduler.stop(timeout=0)
    starts = [Background(scheduler.start) for _ in range(2)]
    later = scheduler.put(int)
    assert all(start.is_waiting for start in starts)
    gate.open()
    assert [start.result() for start in starts] == [None, None]
    assert later.result(PATIENCE) == 0
    assert len(workers()) == 1


def test_it_starts_again_and_again(scheduler):
    for _ in range(3):
        scheduler.start()
        scheduler.put(int).result(PATIENCE)
        assert scheduler.stop(timeout=PATIENCE)
    assert scheduler.succeeded == 3


def test_what_is_scheduled_after_the_stop_waits_for_the_next_start(scheduler):
    scheduler.start()
    scheduler.stop(timeout=PATIENCE)
    future = scheduler.put(int)
    assert not future.done()
    scheduler.start()
    assert future.result(PATIENCE) == 0


def test_leaving_the_with_block_finishes_everything(scheduler):
    with scheduler as entered:
        assert entered is scheduler
        futures = [scheduler.put(int) for _ in range(100)]
    assert all(future.done() for future in futures)
    assert scheduler.succeeded == 100


def test_without_a_thread_to_start_nothing_has_changed(scheduler, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    future = scheduler.put(int)
    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            scheduler.start()
        assert scheduler.stop(timeout=PATIENCE) is True
    scheduler.start()
    assert future.result(PATIENCE) == 0


# Cancel


def test_a_cancelled_task_never_runs(scheduler):
    ran = []
    futures = [scheduler.put(ran.append, number) for number in range(3)]
    assert futures[1].cancel() is True
    assert futures[1].cancel() is True
    with scheduler:
        pass
    assert ran == [0, 2]
    with pytest.raises(CancelledError):
        futures[1].result(0)


def test_what_runs_or_has_ended_is_not_cancelled(scheduler, gate):
    scheduler.start()
    future = scheduler.put(gate)
    gate.wait_until_entered()
    assert future.running()
    assert future.cancel() is False
    gate.open()
    future.result(PATIENCE)
    assert future.cancel() is False


def test_a_cancel_between_the_taking_and_the_run(scheduler, monkeypatch):
    """The worker has the task, but has not begun: cancel() still wins, and the worker goes on."""
    ran = []
    future = scheduler.put(ran.append, "cancelled")
    begin = type(future).set_running_or_notify_cancel

    def cancel_first(task):
        if not task.cancelled():
            assert task.is_waiting is False
            assert task.cancel() is True
        return begin(task)

    with monkeypatch.context() as patched:
        patched.setattr(type(future), "set_running_or_notify_cancel", cancel_first)
        scheduler.start()
        assert wait([future], PATIENCE).done == {future}
    scheduler.put(ran.append, "later").result(PATIENCE)
    assert ran == ["later"]
    assert (scheduler.succeeded, scheduler.failed) == (1, 0)


def test_cancelling_wakes_who_waits_although_no_worker_is_there(scheduler):
    future = scheduler.put(int)
    waiter = Background(wait, [future])
    future.cancel()
    assert waiter.result().done == {future}
    assert wait([future], 0).done == {future}


def test_cancelling_wakes_who_waits_although_a_callback_raises(scheduler):
    future = scheduler.put(int)
    future.add_done_callback(lambda _: boom(SystemExit()))
    with pytest.raises(SystemExit):
        future.cancel()
    assert wait([future], 0).done == {future}


def test_a_callback_of_a_cancel_may_use_the_scheduler(scheduler):
    scheduler.start()
    scheduler.stop(timeout=PATIENCE)
    later = []
    future = scheduler.put(int)
    future.add_done_callback(lambda _: scheduler.start())
    future.add_done_callback(lambda _: later.append(Background(scheduler.put, int).result()))
    future.cancel()
    assert later[0].result(PATIENCE) == 0


# Memory


def test_cancelling_lets_go_of_the_arguments_at_once(scheduler, no_gc):
    thing = Thing()
    ghost = weakref.ref(thing)
    future = scheduler.put(print, thing)
    del thing
    assert ghost()
    future.cancel()
    assert ghost() is None


def test_a_future_that_is_kept_does_not_keep_the_arguments(scheduler, no_gc):
    thing = Thing()
    ghost = weakref.ref(thing)
    sleeper = watch(scheduler)
    scheduler.start()
    sleeper.wait_for_sleeps()
    future = scheduler.put(callable, thing)
    del thing
    sleeper.wait_for_sleeps()
    assert future.result(0) is False
    assert ghost() is None


@pytest.mark.parametrize("fails", [False, True])
def test_an_idle_worker_keeps_nothing_alive(scheduler, no_gc, fails):
    ghosts = []

    def work(thing):
        result = Thing()
        ghosts.extend([weakref.ref(thing), weakref.ref(result)])
        if fails:
            raise ValueError(thing)
        return result

    sleeper = watch(scheduler)
    logging.disable()
    try:
        scheduler.start()
        sleeper.wait_for_sleeps()
        ghosts.append(weakref.ref(scheduler.put(work, Thing())))
        sleeper.wait_for_sleeps()
    finally:
        logging.disable(logging.NOTSET)
    assert [ghost() for ghost in ghosts] == [None, None, None]


def test_a_failed_task_that_is_still_known_keeps_its_traceback(scheduler):
    scheduler.start()
    error = scheduler.put(boom, ValueError("why")).exception(PATIENCE)
    names = []
    traceback = error.__traceback__
    while traceback:
        names.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert names[-1] == "boom"
