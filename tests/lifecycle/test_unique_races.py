"""One unfinished run for a key, whoever asks and whenever: at the same moment, while it runs, while it waits for its
next attempt."""

import threading

import pytest
from django.db import transaction

from jobs.core import clock
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.rescue import rescue
from jobs.models import Run
from jobs.testing import FakeClock, drain
from tests.lifecycle.support import PATIENCE, Thread, elsewhere, fresh, new_worker, success, take_one, write
from tests.tasks import lifecycle_add

pytestmark = pytest.mark.django_db(transaction=True)
keyed = lifecycle_add.using(unique_key="k")


def test_twenty_at_once_get_one_run():
    barrier = threading.Barrier(20, timeout=PATIENCE)

    def submit(number):
        Run.objects.exists()  # connected before the race
        barrier.wait()
        run = keyed.enqueue(number)
        return run.pk, run.is_new

    answers = [thread.outcome() for thread in [Thread(submit, number) for number in range(20)]]
    (run,) = Run.objects.all()
    assert sorted(answers) == [(run.pk, False)] * 19 + [(run.pk, True)]


def test_while_it_runs_and_after_its_end():
    run = keyed.enqueue(1)
    taken = take_one()
    assert (keyed.enqueue(2).pk, keyed.enqueue(3).is_new) == (run.pk, False)
    write(success(taken))
    assert keyed.enqueue(4).is_new
    assert Run.objects.filter(state="running").count() == 0


def test_while_a_lost_one_waits_for_its_next_attempt():
    with FakeClock() as time:
        run = keyed.enqueue(1)
        worker = new_worker().pk
        take_one(worker=worker)
        with transaction.atomic(using=alias()):
            assert rescue(connection(), [worker], clock.now()) == [run.pk]
        assert fresh(run).state == "scheduled"
        again = elsewhere(keyed.enqueue, 2)
        assert (again.pk, again.is_new) == (run.pk, False)
        assert lifecycle_add.using(unique_key="other").enqueue(3).is_new
        assert drain() == 1  # the other key
        time.move(60)
        assert drain() == 1
    assert (fresh(run).state, fresh(run).losses, fresh(run).result) == ("succeeded", 1, 2)
    assert keyed.enqueue(4).is_new
