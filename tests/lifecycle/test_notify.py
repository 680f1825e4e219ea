"""Who tells other processes that there may be work: whatever makes a run ready, with its commit."""

from datetime import timedelta

import pytest
from django.db import connection, transaction

from jobs.core import clock
from jobs.lifecycle import enqueue_job, pause, resume, run_again
from jobs.lifecycle.notify import ANYBODY
from jobs.lifecycle.promote import promote
from jobs.lifecycle.rescue import interrupt
from jobs.models import Job
from jobs.runtime.listener import _received, own_connection
from tests.lifecycle.support import ended, fresh, give_back, new_worker, stored, take, take_one
from tests.tasks import lifecycle_note, lifecycle_single

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has NOTIFY"),
]


@pytest.fixture
def heard():
    """What has come since the last call, in order."""
    with own_connection() as raw:

        def heard():
            raw.execute("SELECT 1")  # what was committed before it arrives before its answer
            return [*(each.payload for each in raw.notifies(timeout=0)), *_received(raw)]

        yield heard


def test_an_enqueue(heard):
    lifecycle_note.using(queue="mail").enqueue(1)
    assert heard() == ["mail"]


def test_one_in_a_transaction_is_heard_at_the_commit_and_only_then(heard):
    with transaction.atomic():
        lifecycle_note.enqueue(1)
        assert heard() == []
    assert heard() == ["default"]
    with transaction.atomic():
        lifecycle_note.enqueue(1)
        transaction.set_rollback(True)
    assert heard() == []


def test_each_queue_once_for_a_commit_also_where_parts_were_rolled_back(heard):
    mail, slow = lifecycle_note.using(queue="mail"), lifecycle_note.using(queue="slow")
    for _ in range(2):
        with transaction.atomic():
            for _ in range(3):
                mail.enqueue(1)
            with transaction.atomic():
                slow.enqueue(1)
                transaction.set_rollback(True)
            with transaction.atomic():
                mail.enqueue(1)
                transaction.set_rollback(True)
        assert heard() == ["mail"]
        slow.enqueue(1)
        assert heard() == ["slow"]


def test_one_that_cannot_be_sent_takes_nothing_back(heard, monkeypatch):
    monkeypatch.setattr("jobs.lifecycle.notify.CHANNEL", "x" * 100)  # is no name for the server
    run = lifecycle_note.enqueue(1)
    assert fresh(run).state == "queued"
    assert heard() == []
    monkeypatch.undo()
    lifecycle_note.enqueue(1)
    assert heard() == ["default"]


def test_many_at_once_are_told_once(heard):
    lifecycle_note.using(queue="mail").enqueue_many([{"what": number} for number in range(1200)])
    assert heard() == ["mail"]
    lifecycle_note.enqueue_many([])
    assert heard() == []


def test_a_delayed_run_so_that_nobody_sleeps_beyond_its_time(heard):
    lifecycle_note.using(run_after=timedelta(hours=1)).enqueue(1)
    assert heard() == ["default"]


def test_one_that_is_unfinished_under_its_unique_key_makes_no_work(heard):
    lifecycle_single.enqueue()
    assert heard() == ["default"]
    lifecycle_single.enqueue()
    assert heard() == []


def test_a_job(heard):
    job = Job.objects.create(name="x", task="tests.tasks.lifecycle_note", queue="mail", arguments_json='{"what":1}')
    enqueue_job(job)
    assert heard() == ["mail"]


def test_a_repetition(heard):
    run_again(ended(queue="mail"))
    assert heard() == ["mail"]


def test_a_release(heard):
    stored(queue="mail")
    run = take_one()
    assert heard() == []
    give_back(run)
    assert heard() == [ANYBODY]
    give_back(run)  # is not its worker's any more
    assert heard() == []


def test_a_promotion(heard):
    stored(state="scheduled", due_at=clock.now(), queue="mail")
    stored(state="scheduled", due_at=clock.now(), queue="mail")
    with transaction.atomic():
        promote(connection, clock.now())
    assert heard() == [ANYBODY]


def test_an_interruption(heard):
    stored(queue="mail")
    taken = take(1, worker=new_worker().pk)
    with transaction.atomic():
        interrupt(connection, taken, clock.now())
    assert heard() == [ANYBODY]


def test_a_resumed_queue(heard):
    pause("mail")
    assert heard() == []
    resume("mail")
    assert heard() == ["mail"]
    assert resume("mail") is False
    assert heard() == []


def test_a_name_that_is_no_plain_word(heard):
    lifecycle_note.using(queue='it\'s 100 % "Ünïcode"').enqueue(1)
    assert heard() == ['it\'s 100 % "Ünïcode"']


def test_nobody_tells_when_it_is_off(heard, settings):
    settings.JOBS = settings.JOBS | {"NOTIFY": False}
    lifecycle_note.enqueue(1)
    lifecycle_note.enqueue_many([{"what": 1}])
    pause("mail")
    resume("mail")
    give_back(take_one())
    assert heard() == []
