"""V2: values that JSON cannot hold, given to a function or returned by one."""

import pytest
from django.contrib.auth.models import User
from django.db import transaction

import jobs
from jobs.errors import ParameterError
from jobs.models import Attempt, Run
from jobs.testing import drain
from tests.lifecycle.support import fresh
from tests.parameters.unstorable import UNSTORABLE
from tests.tasks import lifecycle_note, lifecycle_return

pytestmark = pytest.mark.django_db
every_value = pytest.mark.parametrize("what", UNSTORABLE)


def submissions(value):
    return {
        "enqueue": lambda: lifecycle_note.enqueue(value),
        "by keyword": lambda: lifecycle_note.enqueue(what=value),
        "by name": lambda: jobs.enqueue("tests.tasks.lifecycle_note", what=value),
        "using": lambda: lifecycle_note.using(unique_key="k").enqueue(value),
        "inside a list": lambda: lifecycle_note.enqueue([1, {"deep": value}]),
        "many": lambda: lifecycle_note.enqueue_many([{"what": 1}, {"what": value}]),
    }


@every_value
@pytest.mark.parametrize("way", submissions(None))
def test_submitted(what, way, wakes, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True), pytest.raises(ParameterError, match="what: ") as caught:
        submissions(UNSTORABLE[what])[way]()
    assert isinstance(caught.value, TypeError)
    assert list(caught.value.errors) == ["what"]
    assert "lifecycle_note" in str(caught.value)
    assert not Run.objects.exists()
    assert wakes == []


@every_value
def test_submitted_inside_a_transaction(what):
    with transaction.atomic():
        User.objects.create(username="ann")
        with pytest.raises(ParameterError, match="what: "):
            lifecycle_note.enqueue(UNSTORABLE[what])
        lifecycle_note.enqueue("fine")
    assert User.objects.filter(username="ann").exists()
    assert Run.objects.get().arguments == {"what": "fine"}


@pytest.mark.parametrize("what", sorted(set(UNSTORABLE) - {"tuple"}))
def test_returned(what, notes):
    run = lifecycle_return.enqueue(what)
    assert drain() == 1
    ended = fresh(run)
    assert (ended.state, ended.reason_code) == ("succeeded", "result_not_stored")
    assert type(UNSTORABLE[what]).__name__ in ended.reason
    assert ended.result_json is None
    assert ended.finished_at is not None
    assert (ended.failures, Attempt.objects.count()) == (0, 0)
    assert drain() == 0
    assert notes == [what]


def test_a_returned_tuple_is_a_list():
    run = lifecycle_return.enqueue("tuple")
    drain()
    assert (fresh(run).result, fresh(run).reason_code) == ([1, 2], "")


def test_one_that_cannot_be_returned_keeps_no_other(notes):
    runs = [lifecycle_return.enqueue("set"), lifecycle_return.enqueue("lock"), lifecycle_note.enqueue("fine")]
    assert drain() == 3
    assert [fresh(run).state for run in runs] == ["succeeded"] * 3
    assert fresh(runs[2]).result == "fine"
