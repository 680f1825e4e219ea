"""The most urgent ready run starts next; among equals the one that came first."""

import random
from threading import Event

import pytest
from django.db import transaction

from jobs.models import Run
from tests.runtime.support import PATIENCE, Gate, in_order, together

pytestmark = pytest.mark.django_db(transaction=True)

PRODUCERS = 8


@pytest.fixture
def no_look_ahead(monkeypatch):
    """Claims are for idle threads only."""
    monkeypatch.setattr("jobs.runtime.lookahead.MOST", 0)


@pytest.fixture
def started():
    return []


@pytest.fixture
def note(task, started):
    """A task function that notes its run."""
    import jobs

    @task
    def note():
        started.append(jobs.current_run().id)

    return note


def hold_all_threads(task, threads, name="hold"):
    """Occupy every thread with a function; the gates that let them go on."""
    gates = [Gate() for _ in range(threads)]

    def hold(number: int):
        gates[number]()

    held = task(hold, name=f"runtime.{name}", priority=-100)
    for number in range(threads):
        held.enqueue(number)
    for gate in gates:
        gate.wait_until_entered()
    return gates


def test_the_urgent_one_overtakes_what_came_before_it(start, task, gate, started):
    @task
    def busy():
        gate()

    @task(priority=10)
    def daily_report():
        started.append("Daily report")

    @task(priority=1)
    def fraud_alert():
        started.append("Fraud alert")

    @task(priority=5)
    def backfill():
        started.append("Backfill")

    start(threads=1)
    busy.enqueue()
    gate.wait_until_entered()
    runs = [each.enqueue() for each in (daily_report, fraud_alert, backfill)]
    gate.open()
    for run in runs:
        run.wait(PATIENCE)
    assert started == ["Fraud alert", "Backfill", "Daily report"]
    recorded = Run.objects.exclude(task=busy.name).order_by("started_at", "pk").values_list("task", flat=True)
    assert list(recorded) == [fraud_alert.name, backfill.name, daily_report.name]


def enqueue_wave(note, *, seed, each=5):
    """Eight threads enqueue at once, at random priorities and into two queues; the stored runs."""
    runs = []

    def produce(number):
        choose = random.Random(f"{seed} {number}")
        for _ in range(each):
            options = {"priority": choose.randint(-3, 3), "queue": choose.choice(["default", "other"])}
            runs.append(note.using(**options).enqueue())

    together([lambda number=number: produce(number) for number in range(PRODUCERS)])
    assert len(runs) == PRODUCERS * each
    return runs


def test_one_thread_takes_waves_of_eight_producers_in_exact_order(start, task, note, started):
    start(threads=1)
    for wave in range(3):
        (gate,) = hold_all_threads(task, 1, name=f"hold_{wave}")
        runs = enqueue_wave(note, seed=wave)
        gate.open()
        for run in runs:
            run.wait(PATIENCE)
        assert started == in_order(runs)
        started.clear()


def test_four_threads_start_nothing_while_more_urgent_runs_than_they_can_hold_wait(
    start, task, note, started, no_look_ahead
):
    threads = 4
    start(threads=threads)
    gates = hold_all_threads(task, threads)
    runs = enqueue_wave(note, seed="four", each=8)
    together([gate.open for gate in gates])
    for run in runs:
        run.wait(PATIENCE)
    rank = {pk: place for place, pk in enumerate(in_order(runs))}
    # Between the start of a run and its note the three other threads may have started runs of their own.
    late = [(place, rank[pk]) for place, pk in enumerate(started) if rank[pk] - place >= threads]
    assert late == []
    assert sorted(started) == sorted(rank)


def test_claims_of_four_threads_follow_the_model_one_by_one(by_hand, ok):
    """What four threads get, claim by claim, while newcomers arrive between the claims."""
    choose = random.Random(20261129)
    dispatcher = by_hand(threads=4)
    waiting, claimed = [], []
    for _ in range(60):
        for _ in range(choose.randint(0, 3)):
            waiting.append(ok.using(priority=choose.randint(-5, 5), queue=choose.choice("abc")).enqueue())
        if dispatcher.executor.running and choose.random() < 0.6:
            dispatcher.executor.end(choose.choice(dispatcher.executor.running), seconds=1.0)
        idle = dispatcher.executor.threads - len(dispatcher.executor.running)
        expected = in_order(waiting)[:idle]
        dispatcher.cycle()
        assert dispatcher.executor.waiting_ids == expected
        waiting = [run for run in waiting if run.pk not in expected]
        claimed += expected
        while dispatcher.executor.waiting:
            dispatcher.executor.begin()
    assert len(claimed) > 30


def test_first_come_first_served_inside_one_priority(start, task, note, started, gate):
    @task
    def busy():
        gate()

    start(threads=1)
    busy.enqueue()
    gate.wait_until_entered()
    runs = [note.enqueue() for _ in range(5)]
    with transaction.atomic():
        runs += [note.enqueue() for _ in range(5)]
    runs += note.enqueue_many([{}] * 5)
    runs += [note.using(queue="other").enqueue() for _ in range(5)]
    gate.open()
    for run in runs:
        run.wait(PATIENCE)
    assert started == [run.pk for run in runs]


def test_ties_to_the_microsecond_go_by_number(by_hand, ok, clock):
    runs = [ok.using(queue=queue).enqueue() for queue in ("b", "a", "b", "a")]
    assert len({run.order_key for run in runs}) == 1
    dispatcher = by_hand(threads=4)
    dispatcher.cycle()
    assert dispatcher.executor.waiting_ids == [run.pk for run in runs]


def test_a_restart_in_the_middle_keeps_the_order(start, note, started):
    runs = [note.using(priority=priority).enqueue() for priority in (3, 1, 2, 3, 1, 2)]
    done_early, is_there = [], Event()

    def stop_after_two():
        done_early.extend(started)
        assert is_there.wait(PATIENCE)  # it may have started two before the next line of the test knows of it
        first.request_stop(0)

    original = note.func

    def counting():
        original()
        if len(started) == 2:
            stop_after_two()

    note.func = counting
    first = start(threads=1)
    is_there.set()
    assert first.stopped.wait(PATIENCE)
    assert Run.objects.filter(state="running").count() == 0
    note.func = original
    start(threads=1)
    for run in runs:
        run.wait(PATIENCE)
    assert done_early == in_order(runs)[:2]
    finished = [pk for place, pk in enumerate(started) if pk not in started[:place]]
    assert finished == in_order(runs)
