"""What the models tell about themselves, and what a stored definition may be."""

import json
from datetime import date

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command

from jobs.core.states import FINAL, Reason, State
from jobs.models import Attempt, Job, Run, RunDependency, RunLog, Schedule, SiteState, Worker
from jobs.models.reasons import SENTENCES, sentence


class TestRun:
    def test_the_attempt_is_the_sum_of_the_counters_and_one(self):
        assert Run().attempt == 1
        assert Run(failures=1, losses=2, interruptions=3, snoozes=4).attempt == 11

    @pytest.mark.parametrize("state", list(State))
    def test_finished(self, state):
        assert Run(state=state.value).is_finished == (state in FINAL)

    def test_its_result_has_its_annotated_type_where_the_function_is_known(self):
        assert Run(task="tests.tasks.lifecycle_shift", result_json='"2026-11-30"').result == date(2026, 11, 30)
        assert Run(task="gone.tasks.f", result_json='"2026-11-30"').result == "2026-11-30"
        assert Run(task="tests.tasks.lifecycle_shift").result is None
        assert Run(task="tests.tasks.lifecycle_note", result_json="false").result is False

    def test_its_arguments(self):
        assert Run(arguments_json='{"a":[1,null]}').arguments == {"a": [1, None]}

    def test_a_reason_becomes_a_sentence(self):
        arguments = json.dumps({"error_class": "ValueError", "message": "no {braces} here"})
        run = Run(reason_code=Reason.FUNCTION_RAISED.value, reason_json=arguments)
        assert run.reason == "The function raised ValueError: no {braces} here"
        assert Run(reason_code=Reason.WORKER_LOST.value).reason.endswith("(? of ? times).")
        assert Run().reason == ""

    def test_a_reason_of_a_newer_release_is_shown_as_it_is(self):
        assert Run(reason_code="out_of_coffee", reason_json='{"cups": 3}').reason == "out_of_coffee"

    def test_every_reason_has_a_sentence(self):
        assert set(SENTENCES) == set(Reason)
        assert all(sentence(reason, {}) for reason in Reason if reason)


def test_what_rows_are_called():
    assert str(Run(pk=5, task="a.b")) == "a.b #5"
    assert str(Run(pk=5, task="a.b", job_name="Nightly")) == "Nightly #5"
    assert str(Job(name="Nightly")) == "Nightly"
    assert str(Worker(name="host:1")) == "host:1"
    assert str(Attempt(run_id=5, number=2, outcome="lost")) == "attempt 2 of run 5: lost"
    assert str(RunLog(run_id=5, attempt=1)) == "log of run 5, attempt 1"
    assert str(SiteState(key="a", value="1")) == "a = 1"
    assert str(RunDependency(upstream_id=1, downstream_id=2)) == "1 → 2 (success)"
    assert str(Schedule(pk=3, kind="cron", expression="0 9 * * *")) == "schedule 3"
    assert str(Schedule(pk=3, name="Mornings")) == "Mornings"


@pytest.mark.django_db
def test_the_migrations_are_complete():
    call_command("makemigrations", "jobs", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
class TestJobClean:
    def job(self, **changes):
        return Job(**{"name": "Nightly", "task": "tests.tasks.lifecycle_add", "arguments_json": '{"a": 1}'} | changes)

    def test_right(self):
        self.job().full_clean()

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"task": "os.system"}, "task"),
            ({"arguments_json": "{"}, "arguments_json"),
            ({"arguments_json": '{"a": NaN}'}, "arguments_json"),
            ({"arguments_json": "[" * 100_000}, "arguments_json"),
            ({"arguments_json": "[1]"}, "arguments_json"),
            ({"arguments_json": '{"a": "1"}'}, "arguments_json"),
            ({"arguments_json": "{}"}, "arguments_json"),
            ({"arguments_json": '{"a": 1, "c": 1}'}, "arguments_json"),
            ({"priority": 101}, "priority"),
            ({"max_losses": 0}, "max_losses"),
            ({"on_lost": "maybe"}, "on_lost"),
        ],
    )
    def test_wrong(self, changes, field):
        with pytest.raises(ValidationError) as caught:
            self.job(**changes).full_clean()
        assert set(caught.value.message_dict) == {field}


@pytest.mark.parametrize(
    ("state", "counters", "executions"),
    [
        ("queued", {}, 0),
        ("queued", {"losses": 1, "interruptions": 1}, 2),
        ("running", {}, 1),
        ("succeeded", {"losses": 2}, 3),
        ("failed", {"failures": 1}, 1),
        ("cancelled", {}, 0),
    ],
)
def test_how_often_its_function_was_started(state, counters, executions):
    assert Run(state=state, **counters).executions == executions


@pytest.mark.parametrize("code", ["of_a_newer_release", "{0}", "{", "{by.__class__}"])
def test_an_unknown_reason_is_told_as_it_is(code):
    assert Run(reason_code=code).reason == code


def test_the_public_reason_says_nothing_that_a_function_met():
    run = Run(reason_code="function_raised", reason_json='{"error_class": "ValueError", "message": "S3CR3T"}')
    assert run.reason == "The function raised ValueError: S3CR3T"
    assert run.public_reason == "The function raised ValueError."
    for code in ("wrong_arguments", "result_not_stored"):
        assert "S3CR3T" not in Run(reason_code=code, reason_json='{"message": "S3CR3T"}').public_reason
    assert Run(reason_code="cancelled_by_request", reason_json='{"by": " by Ann"}').public_reason.endswith("by Ann.")
