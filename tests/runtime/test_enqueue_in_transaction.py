"""Enqueue belongs to the caller's transaction: never started before its commit, always after, never without one."""

from contextlib import suppress

import pytest
from django.db import IntegrityError, connections, transaction

from jobs.core import wake
from jobs.lifecycle import claim
from jobs.models import Queue, Run
from tests.runtime.support import PATIENCE, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def find(task):
    """A task function that looks for what was stored beside its run; `find.found` tells what it saw."""

    @task
    def find(name: str):
        find.found.append((name, Queue.objects.filter(name=name).exists()))

    find.found = []
    return find


@pytest.fixture
def cycles(monkeypatch, settings):
    """Counts the looks of the dispatcher at the database, in which it has nothing to write."""
    settings.JOBS = {**settings.JOBS, "HEARTBEAT_SECONDS": 60.0, "LOST_AFTER_SECONDS": 600.0}
    looks = []
    original = claim.best_waiting

    def counting(*args, **kwargs):
        looks.append(1)
        return original(*args, **kwargs)

    monkeypatch.setattr(claim, "best_waiting", counting)
    return looks


def let_it_look(cycles):
    """Wait until the dispatcher has looked several times more."""
    before = len(cycles)
    for number in range(1, 4):
        wake.wake()  # as any other enqueue in this process would
        wait_until(lambda number=number: len(cycles) >= before + number)


def test_it_starts_after_the_commit_and_finds_what_was_committed(start, find, ok, cycles):
    start(threads=1)
    ok.enqueue().wait(PATIENCE)  # it has begun to work
    with transaction.atomic():
        Queue.objects.create(name="order")
        run = find.enqueue("order")
        let_it_look(cycles)
        assert find.found == []
    run.wait(PATIENCE)
    assert find.found == [("order", True)]


def test_rolled_back_it_never_starts(start, find, ok, cycles):
    start(threads=1)
    ok.enqueue().wait(PATIENCE)
    with transaction.atomic():
        Queue.objects.create(name="order")
        find.enqueue("order")
        let_it_look(cycles)
        transaction.set_rollback(True)
    ok.enqueue().wait(PATIENCE)  # what came later has been executed
    assert not Run.objects.filter(task=find.name).exists()
    assert find.found == []


def test_with_its_savepoint_it_is_rolled_back_alone(start, find, ok):
    start(threads=1)
    with transaction.atomic():
        Queue.objects.create(name="order")
        kept = find.enqueue("order")
        with suppress(IntegrityError), transaction.atomic():
            find.enqueue("lost")
            Queue.objects.create(name="order")
    kept.wait(PATIENCE)
    ok.enqueue().wait(PATIENCE)
    assert find.found == [("order", True)]
    assert Run.objects.filter(task=find.name).count() == 1


def test_nothing_wakes_before_the_commit(find):
    woken = []
    wake.register(wake_up := lambda: woken.append(1))
    try:
        with transaction.atomic():
            find.enqueue("order")
            find.enqueue_many([{"name": "more"}] * 3)
            assert woken == []
        assert woken != []
        woken.clear()
        with transaction.atomic():
            find.enqueue("order")
            transaction.set_rollback(True)
        assert woken == []
    finally:
        wake.unregister(wake_up)


def test_a_failing_wake_up_does_not_reach_the_caller(find):
    def fail():
        raise RuntimeError("no")

    wake.register(fail)
    try:
        with transaction.atomic():
            run = find.enqueue("order")
    finally:
        wake.unregister(fail)
    assert Run.objects.filter(pk=run.pk).exists()


@pytest.mark.skipif(connections["default"].vendor != "sqlite", reason="data_version is SQLite's")
def test_what_another_connection_commits_is_seen_without_a_wake_up(start, find, settings):
    """As from another process: the file's version tells it, long before the poll."""
    import sqlite3

    settings.JOBS = {**settings.JOBS, "POLL_SECONDS": 60.0, "HEARTBEAT_SECONDS": 60.0, "LOST_AFTER_SECONDS": 600.0}
    run = find.enqueue("order")
    Run.objects.filter(pk=run.pk).update(state="blocked")
    start(threads=1)
    find.enqueue("first").wait(PATIENCE)
    other = sqlite3.connect(connections["default"].settings_dict["NAME"], timeout=20)
    other.execute("UPDATE jobs_run SET state = 'queued' WHERE id = ?", [run.pk])
    other.commit()
    other.close()
    run.wait(PATIENCE)
    assert find.found == [("first", False), ("order", False)]
