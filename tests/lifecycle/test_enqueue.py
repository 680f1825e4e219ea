"""One enqueue: the row, and what the caller gets."""

import json
from datetime import UTC, date, datetime, timedelta

import pytest

import jobs
from jobs.core.order import STRICT_AGEING, order_key
from jobs.errors import NotRegistered, ParameterError
from jobs.models import Run
from jobs.testing import drain
from tests import tasks
from tests.lifecycle.support import fresh, row

pytestmark = pytest.mark.django_db
NOW = datetime(2027, 1, 1, tzinfo=UTC)


def test_the_row(clock):
    run = tasks.lifecycle_add.enqueue(1, b=2)
    assert row(run) == {
        "id": run.pk,
        "task": "tests.tasks.lifecycle_add",
        "arguments_json": '{"a":1,"b":2}',
        "state": "queued",
        "queue": "default",
        "priority": 0,
        "effective_priority": 0,
        "ready_at": NOW,
        "order_key": order_key(0, NOW, STRICT_AGEING),
        "enqueued_at": NOW,
        "on_lost": "requeue",
        "max_losses": 3,
        "max_attempts": 1,
        "max_interruptions": 5,
        **dict.fromkeys(["claim_no", "failures", "losses", "interruptions", "snoozes", "upstream_open"], 0),
        **dict.fromkeys(
            ["job_name", "reason_code", "executor", "limit_key", "unique_key", "submitted_by_key", "submitted_by_name",
             "progress_message"], ""
        ),
        **dict.fromkeys(
            ["job_id", "reason_json", "due_at", "start_deadline_at", "started_at", "finished_at", "timeout_seconds",
             "worker_id", "options_json", "retention_seconds", "unique_hash", "schedule_id", "slot", "scheduled_for",
             "rerun_of_id", "workflow_id", "cancel_requested_at", "progress_done", "progress_total", "progress_at",
             "result_json"]
        ),
    }  # fmt: skip


def test_the_row_and_what_is_given_back_agree(clock):
    run = tasks.lifecycle_add.using(queue="q", unique_key="k", run_after=timedelta(hours=1)).enqueue(1)
    stored = fresh(run)
    assert run.pk
    for field in Run._meta.concrete_fields:
        assert getattr(run, field.attname) == getattr(stored, field.attname), field.attname


def test_what_is_given_back_can_be_used(clock):
    run = tasks.lifecycle_add.enqueue(1)
    assert isinstance(run, Run)
    assert run.is_new
    assert not fresh(run).is_new
    assert (run.state, run.attempt, run.result, run.is_finished) == ("queued", 1, None, False)
    run.progress_message = "an instance like any other"
    run.save()
    assert Run.objects.count() == 1


def test_the_options_of_the_function(clock):
    run = fresh(tasks.lifecycle_with_options.enqueue())
    assert (run.priority, run.effective_priority, run.queue, run.on_lost, run.max_losses) == (7, 7, "side", "fail", 2)
    assert run.order_key == order_key(7, NOW, STRICT_AGEING)


def test_using_overrides_them_for_its_own_runs_only(clock):
    task = tasks.lifecycle_with_options
    changed = task.using(priority=-100, queue="other", on_lost="requeue", max_losses=9, unique_key="k")
    run, plain = fresh(changed.enqueue()), fresh(task.enqueue())
    assert (run.priority, run.queue, run.on_lost, run.max_losses) == (-100, "other", "requeue", 9)
    assert (run.unique_key, len(run.unique_hash)) == ("k", 64)
    assert (plain.priority, plain.queue, plain.unique_hash) == (7, "side", None)


def test_the_ageing_that_is_set_is_in_the_key(clock, settings):
    settings.JOBS = {"AGEING_SECONDS": 600}
    run = tasks.lifecycle_add.using(priority=3).enqueue(1)
    assert run.order_key == order_key(3, NOW, 600_000_000)


def test_by_name(clock):
    run = jobs.enqueue("tests.tasks.lifecycle_shift", date(2026, 11, 1), by=timedelta(days=2))
    assert fresh(run).arguments == {"day": "2026-11-01", "by": "P2DT00H00M00S"}
    assert jobs.enqueue("tests.tasks.lifecycle_shift", day="2026-11-01").arguments == {"day": "2026-11-01"}


def test_by_an_unknown_name():
    with pytest.raises(NotRegistered, match=r"Did you mean 'tests\.tasks\.lifecycle_add'\?"):
        jobs.enqueue("tests.tasks.lifecycle_adds", 1)
    assert not Run.objects.exists()


@pytest.mark.parametrize("name", [5, None, ["a"], tasks.lifecycle_add])
def test_by_what_is_no_name(name):
    with pytest.raises(NotRegistered, match="is not registered"):
        jobs.enqueue(name)


@pytest.mark.parametrize(
    ("args", "kwargs", "name"),
    [((), {}, "a"), (("1",), {}, "a"), ((1,), {"c": 2}, "c"), ((1, 2, 3), {}, ""), ((1,), {"a": 1}, "a")],
)
def test_parameters_that_do_not_fit(args, kwargs, name):
    with pytest.raises(ParameterError) as caught:
        tasks.lifecycle_add.enqueue(*args, **kwargs)
    assert list(caught.value.errors) == [name]
    assert not Run.objects.exists()


def test_a_parameter_may_have_any_name(notes):
    for run in (
        tasks.lifecycle_odd_names.enqueue(self=1, args=[2], name=3),
        tasks.lifecycle_odd_names.enqueue(1, [2], 3),
        jobs.enqueue("tests.tasks.lifecycle_odd_names", self=1, args=[2], name=3),
    ):
        drain()
        assert fresh(run).result == [1, [2], 3]


@pytest.mark.parametrize("day", [date(2026, 11, 1), "2026-11-01"])
def test_results_have_their_annotated_type(day):
    run = tasks.lifecycle_shift.enqueue(day, by=timedelta(days=-1))
    drain()
    assert fresh(run).result == date(2026, 10, 31)
    assert json.loads(fresh(run).result_json) == "2026-10-31"


def test_it_takes_one_statement(django_assert_num_queries):
    with django_assert_num_queries(1) as queries:
        tasks.lifecycle_add.enqueue(1)
    assert queries[0]["sql"].startswith("INSERT INTO")
