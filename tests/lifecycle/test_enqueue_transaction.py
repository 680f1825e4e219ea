"""N3: a run belongs to its caller's transaction, and wakes the dispatcher when that is committed."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobs.core import wake
from jobs.models import Run
from jobs.testing import drain
from tests.lifecycle.support import elsewhere
from tests.tasks import lifecycle_add, lifecycle_note

pytestmark = pytest.mark.django_db(transaction=True)


def seen_elsewhere():
    """What another connection can see: users, runs."""
    return elsewhere(lambda: (User.objects.count(), Run.objects.count()))


def test_commit(wakes, notes):
    with transaction.atomic():
        user = User.objects.create(username="ann")
        run = lifecycle_note.enqueue(user.pk)
        assert Run.objects.filter(pk=run.pk).exists()
        assert seen_elsewhere() == (0, 0)
        assert wakes == []
    assert seen_elsewhere() == (1, 1)
    assert wakes == ["wake"]
    assert elsewhere(drain) == 1
    assert notes == [user.pk]


def test_outside_of_a_transaction_it_is_committed_at_once(wakes):
    lifecycle_add.enqueue(1)
    assert seen_elsewhere() == (0, 1)
    assert wakes == ["wake"]


@transaction.atomic
def view_that_fails():
    User.objects.create(username="bob")
    lifecycle_note.enqueue("never")
    raise RuntimeError("nothing of this was")


def test_rollback(wakes, notes):
    with pytest.raises(RuntimeError):
        view_that_fails()
    assert seen_elsewhere() == (0, 0)
    assert wakes == []
    assert drain() == 0
    assert notes == []


def test_rollback_to_a_savepoint(wakes, notes):
    with transaction.atomic():
        User.objects.create(username="ann")
        lifecycle_note.enqueue("kept")
        with pytest.raises(RuntimeError):
            view_that_fails()
        assert wakes == []
    assert seen_elsewhere() == (1, 1)
    assert wakes == ["wake"]
    assert drain() == 1
    assert notes == ["kept"]


def test_an_inner_block_is_not_the_commit(wakes):
    with transaction.atomic():
        with transaction.atomic():
            lifecycle_add.enqueue(1)
        assert wakes == []
        assert seen_elsewhere() == (0, 0)
        transaction.set_rollback(True)
    assert wakes == []
    assert seen_elsewhere() == (0, 0)


def test_an_enqueue_that_fails_leaves_the_callers_transaction_usable():
    with transaction.atomic():
        User.objects.create(username="ann")
        for bad in ({"a": "1"}, {"z": 1}, {}):
            with pytest.raises(TypeError):
                lifecycle_add.enqueue(**bad)
        with pytest.raises(ValueError, match="run_after"):
            lifecycle_add.using(run_after=timedelta.max).enqueue(1)
        lifecycle_add.enqueue(1)
    assert seen_elsewhere() == (1, 1)


def test_a_waker_that_raises_hurts_nobody(monkeypatch, caplog):
    def waker():
        raise RuntimeError("a fault in a waker")

    monkeypatch.setattr(wake, "_wakers", [waker])
    after = []
    with transaction.atomic():
        lifecycle_add.enqueue(1)
        transaction.on_commit(lambda: after.append("the caller's own"))
    assert after == ["the caller's own"]
    assert seen_elsewhere() == (0, 1)
    assert "a fault in a waker" in caplog.text
