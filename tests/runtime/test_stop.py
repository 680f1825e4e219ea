"""The stop: claim no more, release what has not started, let what runs finish for a while, hand back the rest."""

import threading
from datetime import timedelta

import pytest

from jobs.models import Attempt, Run, Worker
from jobs.runtime.wakeups import Wakeup
from tests.runtime.support import PATIENCE, Gate, states, together, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hold(task, gate):
    """A task function that waits at the gate."""

    @task
    def hold():
        gate()

    return hold


def test_an_idle_scheduler_stops_at_once(start, ok):
    scheduler = start(threads=2)
    ok.enqueue().wait(PATIENCE)
    assert scheduler.stop(1000) is True  # nothing runs, so the grace is not used up
    worker = Worker.objects.get()
    assert (worker.state, worker.stopped_at is not None) == ("stopped", True)


def test_it_does_not_sleep_once_more_after_its_last_write(start, monkeypatch):
    sleeps, wait = [], Wakeup.wait

    def noted(wakeup, seconds):
        sleeps.append(Worker.objects.filter(state="stopped").exists())
        wait(wakeup, seconds)

    monkeypatch.setattr(Wakeup, "wait", noted)
    scheduler = start()
    wait_until(lambda: sleeps)
    scheduler.request_stop()
    assert scheduler.stopped.wait(PATIENCE)
    assert not any(sleeps)


def test_a_function_that_ends_within_the_grace_has_its_outcome_stored(start, hold, gate):
    run = hold.enqueue()
    scheduler = start(threads=1)
    gate.wait_until_entered()
    scheduler.request_stop(PATIENCE)
    wait_until(lambda: Worker.objects.filter(state="stopping").exists())
    assert states([run]) == ["running"]
    gate.open()
    assert scheduler.stopped.wait(PATIENCE)
    assert states([run]) == ["succeeded"]
    assert not scheduler.has_running_functions
    assert Worker.objects.get().state == "stopped"


def test_one_that_takes_longer_is_handed_back(start, hold, gate):
    run = hold.enqueue()
    scheduler = start(threads=1)
    gate.wait_until_entered()
    assert scheduler.stop(0.1) is True
    run.refresh_from_db()
    assert (run.state, run.reason_code, run.interruptions, run.losses) == ("queued", "interrupted", 1, 0)
    assert (run.worker_id, run.started_at, run.attempt) == (None, None, 2)
    assert "A shutdown interrupted it while the function ran (1 of 5 times)" in run.reason
    attempt = Attempt.objects.get(run=run)
    assert (attempt.number, attempt.outcome) == (1, "interrupted")
    assert attempt.worker_name == Worker.objects.get().name
    assert scheduler.has_running_functions


def test_the_end_of_a_function_that_was_handed_back_changes_nothing(start, hold, gate):
    run = hold.enqueue()
    scheduler = start(threads=1)
    gate.wait_until_entered()
    scheduler.stop(0)
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("jobs-worker")]
    gate.open()
    for thread in threads:
        thread.join(PATIENCE)
    run.refresh_from_db()
    assert (run.state, run.interruptions) == ("queued", 1)


def test_work_that_must_not_repeat_ends_failed(start, hold, gate):
    run = hold.using(on_lost="fail").enqueue()
    scheduler = start(threads=1)
    gate.wait_until_entered()
    scheduler.stop(0)
    run.refresh_from_db()
    assert (run.state, run.reason_code, run.interruptions) == ("failed", "interrupted", 1)
    assert run.finished_at is not None
    assert run.worker_id == Worker.objects.get().pk


def test_after_max_interruptions_it_fails(start, hold, gate):
    run = hold.enqueue()
    Run.objects.filter(pk=run.pk).update(max_interruptions=3, interruptions=2)
    scheduler = start(threads=1)
    gate.wait_until_entered()
    scheduler.stop(0)
    run.refresh_from_db()
    assert (run.state, run.interruptions) == ("failed", 3)
    assert "(3 of 3 times)" in run.reason


def test_interruptions_are_no_losses(start, hold, gate):
    """A run that deploys interrupted must not be taken for one that kills its worker."""
    run = hold.enqueue()
    Run.objects.filter(pk=run.pk).update(max_losses=1)
    scheduler = start(threads=1)
    gate.wait_until_entered()
    scheduler.stop(0)
    assert states([run]) == ["queued"]


def test_what_was_claimed_and_not_started_is_released(by_hand, ok, clock):
    runs = ok.enqueue_many([{}] * 3)
    dispatcher = by_hand(threads=3)
    dispatcher.cycle()
    dispatcher.executor.begin()
    dispatcher.request_stop(100)
    dispatcher.cycle()
    assert states(runs) == ["running", "queued", "queued"]
    assert dispatcher.executor.waiting == []
    runs[1].refresh_from_db()
    assert (runs[1].worker_id, runs[1].attempt, runs[1].reason_code) == (None, 1, "")
    assert not dispatcher.is_done


def test_nothing_is_claimed_and_nothing_starts_once_a_stop_was_asked_for(by_hand, ok, clock):
    """Not even what a thread has in its hands at this moment."""
    runs = ok.enqueue_many([{}] * 3)
    dispatcher = by_hand(threads=2)
    dispatcher.cycle()
    working = dispatcher.executor.begin()
    dispatcher.request_stop(100)
    assert dispatcher.executor.begin() is None
    dispatcher.executor.end(working)
    dispatcher.cycle()
    assert states(runs) == ["succeeded", "queued", "queued"]
    assert dispatcher.is_done


def test_the_time_of_grace_can_only_become_shorter(by_hand, ok, clock):
    ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    dispatcher.executor.begin()
    for seconds in (100, 1000, 10, 50):
        dispatcher.request_stop(seconds)
    clock.move(9.9)
    dispatcher.cycle()
    assert not dispatcher.is_done
    assert dispatcher.next_look_in() == pytest.approx(0.1)
    clock.move(0.1)
    dispatcher.cycle()
    assert dispatcher.is_done


def test_a_second_request_ends_it_at_once(start, hold, gate):
    run = hold.enqueue()
    scheduler = start(threads=1)
    gate.wait_until_entered()
    scheduler.request_stop(1000)
    wait_until(lambda: Worker.objects.filter(state="stopping").exists())
    assert not scheduler.stopped.is_set()
    scheduler.request_stop(0)
    assert scheduler.stopped.wait(PATIENCE)
    assert states([run]) == ["queued"]


def test_the_dispatcher_sleeps_while_it_stops(by_hand, ok, clock):
    """Also when a run becomes due, which it would have promoted and claimed before."""
    ok.enqueue()
    ok.using(run_after=timedelta(seconds=2)).enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    dispatcher.executor.begin()
    dispatcher.cycle()
    dispatcher.request_stop(100)
    dispatcher.cycle()
    clock.move(3)
    for _ in range(3):
        dispatcher.cycle()
    assert dispatcher.next_look_in() > 0.5


def test_signs_of_life_go_on_during_the_grace(by_hand, ok, clock):
    """Others must not take over what still may finish."""
    ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    dispatcher.executor.begin()
    dispatcher.request_stop(1000)
    before = Worker.objects.get().beats
    for _ in range(6):
        clock.move(10)
        dispatcher.cycle()
    worker = Worker.objects.get()
    assert (worker.state, worker.beats) == ("stopping", before + 6)


class TestFromInside:
    def test_a_function_that_stops_its_own_scheduler_is_not_waited_for(self, start, task):
        """The stop waits for the function, so the function must not wait for the stop."""
        answers = []

        @task
        def stop_it():
            answers.append(scheduler.stop(PATIENCE))

        scheduler = start(threads=1)
        run = stop_it.enqueue()
        assert scheduler.stopped.wait(PATIENCE)
        assert (answers, states([run])) == ([False], ["succeeded"])

    def test_a_signal_in_the_middle_of_a_stop_does_not_hang(self, start):
        """The handler of a second signal runs in the thread of the first, which may hold any lock of the Flags."""
        scheduler = start(threads=1)
        done = threading.Event()
        flags = [scheduler._dispatcher.woken, scheduler._dispatcher.stopping]

        def handlers():
            with flags[0]._cond, flags[1]._cond:
                scheduler.request_stop(0)
            done.set()

        threading.Thread(target=handlers, daemon=True).start()
        assert done.wait(PATIENCE)


def test_the_last_outcome_is_stored_however_the_stop_and_the_end_meet(start, task):
    """The function ends at the very moment at which the stop is asked for."""
    gates = []

    @task
    def racing():
        gates[-1]()

    for _ in range(10):
        gates.append(Gate())
        run = racing.enqueue()
        scheduler = start(threads=1)
        gates[-1].wait_until_entered()
        together([gates[-1].open, lambda scheduler=scheduler: scheduler.request_stop(PATIENCE)])
        assert scheduler.stopped.wait(PATIENCE)
        assert states([run]) == ["succeeded"]
