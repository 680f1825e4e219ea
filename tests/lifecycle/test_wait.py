"""Waiting for the end of a run."""

import threading
from contextlib import contextmanager

import pytest
from django.db import transaction

from jobs.core import wake
from jobs.lifecycle import WaitInTransaction, waiting
from jobs.models import Run
from jobs.testing import drain
from tests.lifecycle.support import PATIENCE, Thread, ended, failure, stored, success, take_one, write
from tests.tasks import lifecycle_add

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sleeping(monkeypatch):
    """An Event that is set when somebody who waits has looked in vain and goes to sleep."""
    event, original = threading.Event(), waiting._shorter

    def shorter(*args):
        event.set()
        return original(*args)

    monkeypatch.setattr(waiting, "_shorter", shorter)
    return event


@pytest.fixture
def no_polling(monkeypatch):
    """Who sleeps is only woken by an announcement."""
    monkeypatch.setattr(waiting, "FIRST_PAUSE", 10 * PATIENCE)


def wait_in_a_thread(run, sleeping):
    thread = Thread(lambda: Run.objects.get(pk=run.pk).wait())
    assert sleeping.wait(PATIENCE)
    return thread


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "skipped"])
def test_an_end_is_seen_at_once(state, django_assert_num_queries):
    run = ended(state)
    run.state = "running"
    with django_assert_num_queries(1):
        assert run.wait(timeout=0) is run
    assert run.state == state


def test_an_end_in_this_process_wakes(sleeping, no_polling):
    run = lifecycle_add.enqueue(2)
    thread = wait_in_a_thread(run, sleeping)
    drain()
    waited = thread.outcome()
    assert (waited.state, waited.result) == ("succeeded", 3)


def test_a_cancel_in_this_process_wakes(sleeping, no_polling):
    run = stored()
    thread = wait_in_a_thread(run, sleeping)
    run.cancel()
    assert thread.outcome().state == "cancelled"


@pytest.mark.parametrize("end", [success, failure])
def test_an_end_in_another_process_is_found_by_looking(sleeping, end):
    run = stored()
    thread = wait_in_a_thread(run, sleeping)
    write(end(take_one()))  # announced to nobody here
    assert thread.outcome().is_finished


def test_an_announcement_too_many_is_harmless(sleeping, no_polling):
    run = stored()
    thread = wait_in_a_thread(run, sleeping)
    write(success(take_one()))
    wake.finished_runs.announce([run.pk + 1])
    wake.finished_runs.announce([run.pk])
    wake.finished_runs.announce([run.pk])
    assert thread.outcome().is_finished


def test_a_cancel_that_is_rolled_back_announces_nothing(monkeypatch):
    announced = []
    monkeypatch.setattr(wake.finished_runs, "announce", announced.append)
    run = stored()
    with transaction.atomic():
        run.cancel()
        transaction.set_rollback(True)
    assert announced == []
    run.cancel()
    assert announced == [[run.pk]]


@pytest.mark.parametrize("timeout", [0, -1, 0.03])
def test_timeout(timeout):
    run = stored(state="scheduled")
    with pytest.raises(TimeoutError, match=f"Run {run.pk} is still scheduled"):
        run.wait(timeout=timeout)
    assert not wake.finished_runs._waiters


def test_inside_a_transaction():
    run = ended()
    with transaction.atomic(), pytest.raises(WaitInTransaction, match=f"Wait for run {run.pk} after the transaction"):
        run.wait(timeout=0)


def test_a_run_that_is_gone():
    run = stored()
    Run.objects.all().delete()
    with pytest.raises(Run.DoesNotExist):
        run.wait()


@pytest.mark.parametrize(("timeout", "most"), [(None, 0.5), (0.1, 0.1)])
def test_it_looks_less_and_less_often(monkeypatch, timeout, most):
    run, pauses = stored(), []

    class Asleep:
        def wait(self, seconds):
            pauses.append(seconds)
            if len(pauses) == 7:
                write(success(take_one()))

    @contextmanager
    def watch(run_id):
        yield Asleep()

    monkeypatch.setattr(wake.finished_runs, "watch", watch)
    run.wait(timeout=timeout)
    if timeout is None:
        assert pauses == [0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5]
    assert max(pauses) <= most
