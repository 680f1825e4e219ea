"""The threads of the PriorityScheduler: how many work, how they stop, drain and start again."""

import sys
from itertools import count
from threading import Barrier, Event, Thread, current_thread

import pytest

from jobs.core import PriorityScheduler
from tests.core.tools import PATIENCE, Background, Gate, WatchedEvent, watch

THREADS = 4


@pytest.fixture
def team(make):
    return make(threads=THREADS)


def meet(barrier):
    barrier.wait(PATIENCE)
    return current_thread()


def is_whole(scheduler):
    """Whether all threads of a started scheduler work: a barrier lets them through only together."""
    barrier = Barrier(THREADS)
    futures = [scheduler.schedule(meet, 0, barrier) for _ in range(THREADS)]
    return len({future.result(PATIENCE) for future in futures}) == THREADS


def hold(scheduler, number):
    """Let that many threads of a started scheduler be busy, until their gates are opened."""
    gates = [Gate() for _ in range(number)]
    for gate in gates:
        scheduler.schedule(gate, -1)
    for gate in gates:
        gate.wait_until_entered()
    return gates


def release(gates):
    for gate in gates:
        gate.open()


# How many


def test_all_threads_work_at_once(team):
    team.start()
    assert is_whole(team)


def test_every_sleeping_thread_wakes_for_its_own_task(team):
    sleeper = watch(team)
    team.start()
    sleeper.wait_for_sleeps(THREADS)
    assert is_whole(team)


def test_a_task_that_comes_just_before_the_sleep(make, monkeypatch):
    """The worker has found nothing but does not sleep yet, so that nobody is there to be woken."""
    scheduler, ran = make(), Event()
    take = scheduler._heap.take

    def take_too_early():
        found = take()
        if found is None and not ran.is_set():
            scheduler.schedule(ran.set, 0)
        return found

    monkeypatch.setattr(scheduler._heap, "take", take_too_early)
    scheduler.start()
    assert ran.wait(PATIENCE)


def test_a_task_that_comes_just_after_the_sleep(make, gate, monkeypatch):
    """The worker still works when schedule() begins, and sleeps when the task arrives."""
    scheduler = make()
    sleeper, push = watch(scheduler), scheduler._heap.push

    def push_late(*entry):
        gate.open()
        sleeper.wait_for_sleeps()
        push(*entry)

    scheduler.schedule(gate, 0)
    scheduler.start()
    gate.wait_until_entered()
    monkeypatch.setattr(scheduler._heap, "push", push_late)
    assert scheduler.schedule(int, 0).result(PATIENCE) == 0


def test_nobody_is_woken_while_nobody_sleeps(make, gate, monkeypatch):
    scheduler, woken = make(), []
    scheduler.start()
    scheduler.schedule(gate, 0)
    gate.wait_until_entered()
    with monkeypatch.context() as patched:
        patched.setattr(scheduler._changed, "notify", lambda: woken.append(True))
        scheduler.schedule(int, 0)
    assert woken == []


def test_each_task_runs_once(team):
    ran = []

    def produce(producer):
        for number in range(500):
            team.schedule(ran.append, number % 7, (producer, number))

    with team:
        for production in [Background(produce, producer) for producer in range(3)]:
            production.result()
    assert sorted(ran) == [(producer, number) for producer in range(3) for number in range(500)]
    assert team.succeeded == 1500


def test_names(make, team):
    team.start()
    barrier = Barrier(THREADS)
    futures = [team.schedule(meet, 0, barrier) for _ in range(THREADS)]
    assert sorted(future.result().name for future in futures) == [f"jobs-worker-{n}" for n in (1, 2, 3, 4)]
    with make(name="mail") as scheduler:
        assert scheduler.schedule(current_thread, 0).result(PATIENCE).name == "mail-1"


@pytest.mark.parametrize("threads", [0, -1])
def test_too_few_threads(threads):
    with pytest.raises(ValueError, match=f"at least 1; got {threads}"):
        PriorityScheduler(threads=threads)


@pytest.mark.parametrize("threads", [None, 1.0, "2", True])
def test_threads_is_a_whole_number(threads):
    with pytest.raises(TypeError, match="whole number"):
        PriorityScheduler(threads=threads)


# Stop


def test_stop_ends_the_running_tasks_and_keeps_the_rest_in_order(team):
    ran = []
    team.start()
    gates = hold(team, THREADS)
    for number in range(20):
        team.schedule(ran.append, -number, number)
    assert team.stop(timeout=0) is False
    release(gates)
    assert team.stop(timeout=PATIENCE) is True
    assert ran == []
    assert team.pending == 20
    assert team.succeeded == THREADS


def test_what_a_stop_kept_runs_in_order_after_the_next_start(make, gate):
    scheduler, ran = make(), []
    scheduler.start()
    scheduler.schedule(gate, 0)
    gate.wait_until_entered()
    for number in range(20):
        scheduler.schedule(ran.append, -number, number)
    scheduler.stop(timeout=0)
    gate.open()
    scheduler.stop(timeout=PATIENCE)
    scheduler.schedule(ran.append, -9.5, "after the stop")
    with scheduler:
        pass
    assert ran == [*range(19, 9, -1), "after the stop", *range(9, -1, -1)]


def test_stop_wakes_all_who_sleep(team):
    sleeper = watch(team)
    team.start()
    sleeper.wait_for_sleeps(THREADS)
    assert team.stop(timeout=PATIENCE) is True


def test_no_thread_outlives_the_stop(team):
    team.start()
    barrier = Barrier(THREADS)
    futures = [team.schedule(meet, 0, barrier) for _ in range(THREADS)]
    threads = [future.result(PATIENCE) for future in futures]
    team.stop(timeout=PATIENCE)
    assert not any(thread.is_alive() for thread in threads)


def test_stop_joins_the_threads(make):
    """Not only their last sign of life: a thread that is about to end may still hold something."""

    class Straggler:
        joined = False

        def join(self):
            self.joined = True

    scheduler, straggler = make(), Straggler()
    scheduler.start()
    scheduler._crew.threads.append(straggler)
    assert scheduler.stop(timeout=PATIENCE) is True
    assert straggler.joined


def test_who_waits_for_a_stop_is_told_even_when_another_starts_again(team):
    team.start()
    gates = hold(team, THREADS)
    team._crew.gone = gone = WatchedEvent()
    stop = Background(team.stop)
    gone.wait_for_waits()
    start = Background(team.start)
    gone.wait_for_waits()
    release(gates)
    assert start.result() is None
    assert stop.result() is True
    assert is_whole(team)


def test_a_stop_under_way_is_not_turned_into_a_drain(make, gate):
    scheduler = make()
    scheduler.start()
    scheduler.schedule(gate, 0)
    gate.wait_until_entered()
    scheduler.schedule(int, 0)
    scheduler.stop(timeout=0)
    scheduler.stop(drain=True, timeout=0)
    gate.open()
    assert scheduler.stop(drain=True, timeout=PATIENCE) is True
    assert scheduler.pending == 1


def interrupt(func, handler, line):
    """Call `func` in a thread, and `handler` once before the given line of the core that this executes.

    Returns whether that line was reached: as a signal handler does, it runs in the thread that it interrupts.
    """
    lines = count()

    def trace(frame, event, argument):
        if "/jobs/core/" in frame.f_code.co_filename and next(lines) == line:
            handler()
        return trace

    def traced():
        sys.settrace(trace)
        try:
            func()
        finally:
            sys.settrace(None)
        return next(lines) > line

    return Background(traced).result()


STEPS = {
    "start": lambda scheduler, futures: scheduler.start(),
    "schedule": lambda scheduler, futures: futures.append(scheduler.schedule(int, 0)),
    "cancel": lambda scheduler, futures: futures[-1].cancel(),
    "drain": lambda scheduler, futures: scheduler.stop(drain=True, timeout=0),
    "stop": lambda scheduler, futures: scheduler.stop(timeout=0),
    "cut a drain short": lambda scheduler, futures: (STEPS["drain"](scheduler, futures), scheduler.stop(timeout=0)),
}


@pytest.mark.parametrize("cancelled", [0, 64], ids=["few cancelled", "sweep"])
@pytest.mark.parametrize("step", STEPS)
def test_a_signal_handler_may_schedule_cancel_and_stop_at_any_line(make, step, cancelled):
    def is_reached(line):
        scheduler, gate = make(), Gate()
        if step != "start":
            scheduler.start()
            scheduler.schedule(gate, -1)
            gate.wait_until_entered()
        futures = [scheduler.schedule(int, number) for number in range(100)]
        for future in futures[:cancelled]:
            future.cancel()

        def handle():
            futures.append(scheduler.schedule(int, 0))
            scheduler.schedule(int, 0).cancel()
            scheduler.stop(timeout=0)

        reached = interrupt(lambda: STEPS[step](scheduler, futures), handle, line)
        gate.open()
        assert scheduler.stop(timeout=PATIENCE)
        assert scheduler.pending == sum(not future.done() for future in futures)
        with scheduler:
            pass
        assert all(future.done() for future in futures)
        assert scheduler.pending == 0
        return reached

    lines = next(line for line in count() if not is_reached(line))
    assert lines > 10


# Drain


def test_drain_runs_all_that_waits(team):
    futures = [team.schedule(int, number) for number in range(100)]
    team.start()
    assert team.stop(drain=True, timeout=PATIENCE) is True
    assert all(future.done() for future in futures)
    assert team.pending == 0


def test_drain_includes_what_is_scheduled_meanwhile(make, gate):
    scheduler, ran = make(), []

    def task(number):
        ran.append(number)
        if number:
            scheduler.schedule(task, 10**6, number - 1)

    scheduler.start()
    scheduler.schedule(gate, 0)
    gate.wait_until_entered()
    assert scheduler.stop(drain=True, timeout=0) is False
    scheduler.schedule(task, 0, 10)
    gate.open()
    assert scheduler.stop(drain=True, timeout=PATIENCE) is True
    assert ran == list(range(10, -1, -1))


def test_a_draining_sibling_stays_for_who_waits_for_its_own_task(make, gate):
    scheduler = make(threads=2)
    sleeper = watch(scheduler)

    def parent():
        gate()
        return scheduler.schedule(int, 0).result(PATIENCE)

    scheduler.start()
    sleeper.wait_for_sleeps(2)
    future = scheduler.schedule(parent, 0)
    gate.wait_until_entered()
    scheduler.stop(drain=True, timeout=0)
    sleeper.wait_for_sleeps()  # the sibling has seen that nothing is left
    gate.open()
    assert future.result(PATIENCE) == 0
    assert scheduler.stop(drain=True, timeout=PATIENCE) is True


def test_a_plain_stop_cuts_a_drain_short(make, gate):
    scheduler, ran = make(), []
    scheduler.start()
    scheduler.schedule(gate, 0)
    gate.wait_until_entered()
    scheduler.stop(drain=True, timeout=0)
    drain = Background(scheduler.stop, drain=True)
    for number in range(50):
        scheduler.schedule(ran.append, number * 37 % 50, number * 37 % 50)
    scheduler.stop(timeout=0)
    gate.open()
    assert drain.result() is True
    assert ran == []
    assert scheduler.pending == 50
    with scheduler:
        pass
    assert ran == list(range(50))


def test_a_plain_stop_wakes_the_siblings_of_a_drain(make, gate):
    scheduler, busy = make(threads=2), []
    sleeper = watch(scheduler)

    def work():
        busy.append(current_thread())
        gate()

    scheduler.start()
    sleeper.wait_for_sleeps(2)
    scheduler.schedule(work, 0)
    gate.wait_until_entered()
    scheduler.stop(drain=True, timeout=0)
    sleeper.wait_for_sleeps()
    scheduler.stop(timeout=0)
    (sibling,) = set(scheduler._crew.threads) - set(busy)
    sibling.join(PATIENCE)
    assert not sibling.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_keeps_no_sibling_in_the_drain(make, gate, monkeypatch):
    """No task can kill a thread, but lack of memory outside of any task can."""
    scheduler = make(threads=2)
    sleeper = watch(scheduler)

    def no_memory(crew):
        raise MemoryError

    scheduler.start()
    sleeper.wait_for_sleeps(2)
    scheduler.schedule(gate, 0)
    gate.wait_until_entered()
    scheduler.stop(drain=True, timeout=0)
    sleeper.wait_for_sleeps()
    monkeypatch.setattr(scheduler, "_take", no_memory)
    gate.open()
    assert scheduler.stop(drain=True, timeout=PATIENCE) is True


def test_a_task_may_ask_for_a_drain(make):
    scheduler = make()

    def drain():
        assert scheduler.stop(drain=True) is False
        return current_thread()

    future = scheduler.schedule(drain, 0)
    rest = scheduler.schedule(int, 1)
    scheduler.start()
    future.result(PATIENCE).join(PATIENCE)
    assert rest.done()


def test_an_exception_that_leaves_the_with_block_keeps_the_rest(make, gate):
    scheduler, gone = make(), WatchedEvent()

    def fail_inside():
        with scheduler:
            scheduler.schedule(gate, 0)
            scheduler.schedule(int, 0)
            gate.wait_until_entered()
            scheduler._crew.gone = gone
            raise LookupError("inside")

    leaving = Background(pytest.raises, LookupError, fail_inside)
    gone.wait_for_waits()
    gate.open()
    assert str(leaving.result().value) == "inside"
    assert scheduler.pending == 1


# Start


def test_a_start_is_whole_or_not_at_all(team, monkeypatch):
    started, start = [], Thread.start

    def start_two(thread):
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    future = team.schedule(int, 0)
    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", start_two)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            team.start()
    for thread in started:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in started)
    assert not future.done()
    team.start()
    assert is_whole(team)


def test_a_team_starts_again_whole(team):
    for _ in range(3):
        team.start()
        assert is_whole(team)
        assert team.stop(timeout=PATIENCE)
