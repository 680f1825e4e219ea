"""Writing how executions ended."""

from datetime import timedelta

import pytest

from jobs.core.states import Reason, State
from jobs.lifecycle.outcome import MESSAGE_LENGTH, NAME_LENGTH, TRACEBACK_LENGTH, Failure, Outcome
from jobs.models import Attempt
from jobs.testing import drain
from tests.lifecycle.support import failure, fresh, new_worker, row, stored, success, take, take_one, write
from tests.tasks import lifecycle_add, lifecycle_fail, lifecycle_note

pytestmark = pytest.mark.django_db


def test_success(clock):
    run = stored(unique_hash="h")
    taken = take_one(worker=7)
    started_at, ended_at = clock.now() + timedelta(seconds=1), clock.now() + timedelta(seconds=3)
    before = row(run)
    outcome = success(taken, started_at=started_at, ended_at=ended_at, result_json='{"a":1}')
    assert write(outcome) == [outcome]
    assert row(run) == before | {
        "state": "succeeded",
        "started_at": started_at,
        "finished_at": ended_at,
        "result_json": '{"a":1}',
        "unique_hash": None,
    }
    assert not Attempt.objects.exists()


def test_failure(clock):
    run = stored(unique_hash="h", losses=2)
    taken = take_one(worker=7)
    clock.move(5)
    before = row(run)
    assert len(write(failure(taken, "it broke"))) == 1
    assert row(run) == before | {
        "state": "failed",
        "reason_code": "function_raised",
        "reason_json": '{"error_class": "ValueError", "message": "it broke"}',
        "started_at": clock.now(),
        "finished_at": clock.now(),
        "failures": 1,
        "unique_hash": None,
    }
    attempt = Attempt.objects.values().get()
    assert attempt == {
        "id": attempt["id"],
        "run_id": run.pk,
        "number": 3,
        "outcome": "failed",
        "error_class": "ValueError",
        "message": "it broke",
        "traceback": "Traceback …\nValueError: it broke",
        "worker_id": 7,
        "worker_name": "",
        "started_at": clock.now(),
        "ended_at": clock.now(),
    }


def test_the_worker_is_named_in_the_history():
    worker = new_worker()
    stored()
    write(failure(take_one(worker=worker.pk)))
    worker.delete()
    assert Attempt.objects.get().worker_name == worker.name


def test_many_at_once():
    runs = [stored(ready_in=n) for n in range(4)]
    outcomes = [(success, failure)[n % 2](run) for n, run in enumerate(take(4))]
    assert write(*outcomes) == outcomes
    assert [fresh(run).state for run in runs] == ["succeeded", "failed"] * 2
    assert sorted(Attempt.objects.values_list("run_id", flat=True)) == [runs[1].pk, runs[3].pk]


def test_nothing():
    assert write() == []
    assert write(one_by_one=True) == []


@pytest.mark.parametrize("value", [None, 0, False, "", [], {"a": [1, None]}, "é\x00\ud800"])
def test_the_result_of_a_function_can_be_read(value):
    run = lifecycle_note.enqueue(value)
    drain()
    ended = fresh(run)
    assert (ended.state, ended.result) == ("succeeded", value)
    assert (ended.result_json is None) == (value is None)


def test_a_function_that_raises(notes):
    run = lifecycle_fail.enqueue("it broke")
    assert drain() == 1
    ended = fresh(run)
    assert (ended.state, ended.failures, ended.attempt) == ("failed", 1, 2)
    assert ended.reason == "The function raised ValueError: it broke"
    attempt = Attempt.objects.get(run=run)
    assert (attempt.number, attempt.error_class, attempt.message) == (1, "ValueError", "it broke")
    assert "lifecycle_fail" in attempt.traceback
    assert attempt.traceback.endswith("ValueError: it broke\n")
    assert drain() == 0  # one try, unless the task asks for more
    assert notes == ["it broke"]


def test_a_run_of_a_function_that_is_gone():
    run = stored(task="tests.tasks.lifecycle_ad")
    assert drain() == 1
    assert (fresh(run).state, fresh(run).reason_code) == ("failed", "not_registered")
    assert "Did you mean 'tests.tasks.lifecycle_add'" in fresh(run).reason


@pytest.mark.parametrize("arguments", ['{"a":"1"}', "{}", '{"a":1,"c":2}', "[1]", "no json", '{"a":NaN}'])
def test_stored_arguments_that_no_longer_fit(arguments):
    run = lifecycle_add.enqueue(1)
    type(run).objects.update(arguments_json=arguments)
    drain()
    assert (fresh(run).state, fresh(run).reason_code) == ("failed", "wrong_arguments")


class TestTexts:
    """Whatever a function says, the database can hold it."""

    def said(self, message):
        run = stored()
        write(failure(take_one(), message, failure=Failure("E" * 999, message, message)))
        return Attempt.objects.get(run=run)

    @pytest.mark.parametrize("size", [0, 10, MESSAGE_LENGTH, MESSAGE_LENGTH + 1, 10**6])
    def test_long_texts_keep_their_head_and_their_end(self, size):
        attempt = self.said("<" + "x" * size + ">")
        assert len(attempt.error_class) == NAME_LENGTH
        for text, limit in ((attempt.message, MESSAGE_LENGTH), (attempt.traceback, TRACEBACK_LENGTH)):
            assert len(text) <= limit + 60
            assert (text[0], text[-1]) == ("<", ">")
            assert ("characters left out" in text) == (size + 2 > limit)

    @pytest.mark.parametrize("text", ["\x00", "a\ud800b", "🐝" * 50, "e\u0301", "line\nline\ttab"])
    def test_odd_characters(self, text):
        attempt = self.said(text)
        shown = text.replace("\x00", "\\x00").replace("\ud800", "\\ud800")
        assert attempt.message == shown

    def test_the_number_left_out_is_told(self):
        assert f"… {10**6 - MESSAGE_LENGTH} characters left out …" in self.said("x" * 10**6).message


def test_an_outcome_without_its_result_says_so(clock):
    stored()
    outcome = success(take_one(), result_json="[1]")
    outcome.without_result("set: " + "x" * 999)
    assert (outcome.state, outcome.result_json, outcome.reason) == (State.SUCCEEDED, None, Reason.RESULT_NOT_STORED)
    assert len(outcome.reason_arguments["message"]) == 200
    assert outcome.reason_json.startswith('{"message": "set: xxx')
    assert Outcome(outcome.run, State.SUCCEEDED, clock.now(), clock.now()).reason_json is None
