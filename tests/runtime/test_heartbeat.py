"""Signs of life: given by the dispatcher, seen by others, and the end of those that give none."""

from datetime import timedelta

import pytest
from django.db import OperationalError

from jobs.models import Attempt, Run, Worker
from jobs.testing import drain
from tests.runtime.support import orphan, states, wait_until

pytestmark = pytest.mark.django_db

HEARTBEAT, LOST_AFTER = 10.0, 45.0  # as in SETTINGS


@pytest.fixture
def silent(ok):
    """A worker that gives no sign of life any more, and the run that it was executing."""
    from jobs.core import clock

    now = clock.now()
    worker = Worker.objects.create(
        name="silent", host="elsewhere", pid=1, kind="test", executor="threads", threads=1, beat_at=now, started_at=now
    )
    run = ok.enqueue()
    orphan(run, worker_id=worker.pk)
    return worker, run


def live(dispatcher, clock, seconds, step=HEARTBEAT):
    """Let time pass for a dispatcher that cycles at every step."""
    for _ in range(round(seconds / step)):
        clock.move(step)
        dispatcher.cycle()


def losses(run) -> int:
    """How often a run was taken from a worker. (It may be running again, here, by the time one looks.)"""
    return Run.objects.get(pk=run.pk).losses


def beats(worker_id) -> int:
    return Worker.objects.get(pk=worker_id).beats


class TestSigns:
    def test_one_every_heartbeat_seconds(self, by_hand, clock):
        dispatcher = by_hand()
        dispatcher.cycle()
        assert beats(dispatcher.worker_id) == 1
        live(dispatcher, clock, 60, step=1.0)
        assert beats(dispatcher.worker_id) == 7
        assert Worker.objects.get(pk=dispatcher.worker_id).beat_at == clock.now()

    def test_the_dispatcher_wakes_up_for_it(self, by_hand, clock):
        dispatcher = by_hand(POLL_SECONDS=1000.0)
        dispatcher.cycle()
        clock.move(3)
        assert dispatcher.next_look_in() == pytest.approx(HEARTBEAT - 3)

    def test_a_failed_cycle_is_no_sign_of_life(self, by_hand, clock, monkeypatch):
        dispatcher = by_hand()
        monkeypatch.setattr("jobs.runtime.dispatcher.finish", raising(OperationalError("gone away")))
        clock.move(LOST_AFTER / 2)
        with pytest.raises(OperationalError):
            dispatcher.cycle()
        monkeypatch.undo()
        assert beats(dispatcher.worker_id) == 0
        assert not dispatcher.may_start(type("Context", (), {"run": type("Run", (), {"worker_id": 1})}))
        dispatcher.cycle()
        assert beats(dispatcher.worker_id) == 1

    @pytest.mark.django_db(transaction=True)
    def test_they_do_not_depend_on_the_functions(self, start, task, gate):
        """Every thread is held by a function; the signs go on."""

        @task
        def hold():
            gate()

        run = hold.enqueue()
        start(threads=1)
        gate.wait_until_entered()
        run.refresh_from_db()
        before = beats(run.worker_id)
        wait_until(lambda: beats(run.worker_id) >= before + 3)


def raising(error):
    def fail(*args, **kwargs):
        raise error

    return fail


class TestDeath:
    def test_a_silent_worker_dies_after_lost_after_seconds_and_its_run_is_rescued(self, by_hand, clock, silent):
        worker, run = silent
        dispatcher = by_hand()
        live(dispatcher, clock, 50)  # the first look is the beginning of the silence
        assert losses(run) == 0
        live(dispatcher, clock, 10)
        worker.refresh_from_db()
        run.refresh_from_db()
        assert worker.state == "dead"
        assert (run.state, run.losses, run.worker_id) == ("scheduled", 1, None)
        assert run.reason_code == "worker_lost"
        assert Attempt.objects.get(run=run).outcome == "lost"

    def test_one_that_gives_signs_lives(self, by_hand, clock, silent):
        worker, run = silent
        dispatcher = by_hand()
        for count in range(20):
            Worker.objects.filter(pk=worker.pk).update(beats=count)
            live(dispatcher, clock, 10)
        assert losses(run) == 0

    def test_the_wall_clock_kills_nobody(self, by_hand, clock, silent):
        """A worker on a host whose clock is ten years behind is alive as long as its counter moves."""
        worker, run = silent
        dispatcher = by_hand()
        for count in range(20):
            Worker.objects.filter(pk=worker.pk).update(
                beats=count, beat_at=clock.now() - timedelta(days=3650), started_at=clock.now()
            )
            live(dispatcher, clock, 10)
        assert losses(run) == 0

    def test_looks_that_were_not_committed_do_not_count(self, by_hand, clock, silent, monkeypatch):
        _, run = silent
        dispatcher = by_hand()
        live(dispatcher, clock, 10)
        with monkeypatch.context() as patch:
            patch.setattr("jobs.runtime.dispatcher.finish", raising(OperationalError("gone away")))
            for _ in range(10):
                clock.move(10)
                with pytest.raises(OperationalError):
                    dispatcher.cycle()
        dispatcher.cycle()
        assert losses(run) == 0  # an outage of 100 s is two looks, and at most 20 s of silence
        live(dispatcher, clock, 20)
        assert losses(run) == 0
        live(dispatcher, clock, 20)
        assert losses(run) == 1

    def test_an_observer_that_was_frozen_does_not_kill_the_living(self, by_hand, clock, silent):
        _, run = silent
        dispatcher = by_hand()
        live(dispatcher, clock, 10)
        clock.move(3600)
        dispatcher.cycle()
        clock.move(10)
        dispatcher.cycle()
        assert losses(run) == 0

    def test_a_run_whose_worker_has_no_row_is_rescued_at_the_next_look(self, by_hand, ok, clock):
        run = ok.enqueue()
        orphan(run, worker_id=987654)
        dispatcher = by_hand()
        live(dispatcher, clock, 10)
        assert losses(run) == 1

    def test_the_rescued_run_is_executed_again(self, by_hand, clock, silent):
        _, run = silent
        dispatcher = by_hand()
        live(dispatcher, clock, 60)
        clock.move(1.0)  # the pause after the first loss
        dispatcher.cycle()
        context = dispatcher.executor.run_one(seconds=1.0)
        dispatcher.cycle()
        assert (context.id, context.attempt) == (run.pk, 2)
        assert states([run]) == ["succeeded"]

    def test_not_after_a_loss_if_it_must_never_repeat(self, by_hand, clock, silent):
        _, run = silent
        Run.objects.filter(pk=run.pk).update(on_lost="fail")
        dispatcher = by_hand()
        live(dispatcher, clock, 60)
        run.refresh_from_db()
        assert (run.state, run.reason_code) == ("failed", "worker_lost")
        assert "stopped without a word" in run.reason
        assert dispatcher.executor.waiting == []


class TestObserversThatDoNotStay:
    """`--drain` from cron looks once and goes."""

    def test_they_take_the_long_silent_for_dead_at_their_first_look(self, by_hand, clock, silent):
        worker, run = silent
        Worker.objects.filter(pk=worker.pk).update(beat_at=clock.now() - timedelta(seconds=10 * LOST_AFTER))
        dispatcher = by_hand(stays=False)
        live(dispatcher, clock, 10)
        assert losses(run) == 1

    def test_but_not_those_that_were_heard_more_lately(self, by_hand, clock, silent):
        worker, run = silent
        at_look = clock.now() + timedelta(seconds=10)
        Worker.objects.filter(pk=worker.pk).update(beat_at=at_look - timedelta(seconds=10 * LOST_AFTER))
        dispatcher = by_hand(stays=False)
        live(dispatcher, clock, 10)
        assert losses(run) == 0

    def test_later_they_judge_by_what_they_have_seen_themselves(self, by_hand, clock, silent):
        """By then they are no worse than others; and a clock that was set must not kill the living."""
        worker, run = silent
        dispatcher = by_hand(stays=False)
        for count in range(5):
            Worker.objects.filter(pk=worker.pk).update(beats=count)
            live(dispatcher, clock, 10)
            Worker.objects.filter(pk=worker.pk).update(beat_at=clock.now() - timedelta(days=1))
        assert losses(run) == 0

    def test_a_drain_looks_at_once(self, clock, silent):
        """It may be over long before the first heartbeat would be due."""
        worker, run = silent
        Worker.objects.filter(pk=worker.pk).update(beat_at=clock.now() - timedelta(days=1))
        drain()
        assert losses(run) == 1

    def test_a_drain_rescues_runs_whose_worker_has_no_row(self, ok, clock):
        run = ok.enqueue()
        orphan(run, worker_id=987654)
        drain()
        assert losses(run) == 1

    def test_those_that_stay_watch_by_themselves(self, by_hand, clock, silent):
        worker, run = silent
        Worker.objects.filter(pk=worker.pk).update(beat_at=clock.now() - timedelta(days=1))
        dispatcher = by_hand(stays=True)
        live(dispatcher, clock, 30)
        assert losses(run) == 0


def test_the_living_do_not_hurt_each_other(by_hand, ok, clock):
    """Three workers observe each other for a long time, one of them with long cycles."""
    dispatchers = [by_hand() for _ in range(3)]
    for step in range(60):
        clock.move(5)
        for dispatcher in dispatchers[: 3 if step % 4 == 0 else 2]:
            dispatcher.cycle()
    assert set(Worker.objects.values_list("state", flat=True)) == {"alive"}
