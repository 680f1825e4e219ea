"""Runs of a stored definition."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs.errors import NotRegistered, ParameterError
from jobs.lifecycle import JobDisabled, enqueue_job
from jobs.models import AuditEntry, Job, Run
from jobs.testing import drain
from tests.lifecycle.support import fresh

pytestmark = pytest.mark.django_db


def job(**changes):
    given = {"name": "Sum", "task": "tests.tasks.lifecycle_add", "arguments_json": '{"a":1,"b":5}'}
    return Job.objects.create(**given | changes)


def test_the_run_of_a_job():
    made = job()
    run = enqueue_job(made)
    assert (fresh(run).job_id, fresh(run).job_name, str(run)) == (made.pk, "Sum", f"Sum #{run.pk}")
    assert fresh(run).arguments == {"a": 1, "b": 5}
    drain()
    assert fresh(run).result == 6
    assert not AuditEntry.objects.exists()


def test_given_arguments_come_in_the_place_of_all_stored_ones():
    made = job()
    assert enqueue_job(made, arguments={"a": 7}).arguments == {"a": 7}
    made.refresh_from_db()
    assert made.arguments == {"a": 1, "b": 5}


def test_an_empty_option_means_as_the_function_says():
    run = fresh(enqueue_job(job(task="tests.tasks.lifecycle_with_options", arguments_json="{}")))
    assert (run.priority, run.queue, run.on_lost, run.max_losses, run.unique_key) == (7, "side", "fail", 2, "")


def test_an_option_of_the_job_comes_first():
    options = {"priority": 0, "queue": "q", "on_lost": "requeue", "max_losses": 1, "unique_key": "k"}
    made = job(task="tests.tasks.lifecycle_with_options", arguments_json="{}", **options)
    run = fresh(enqueue_job(made))
    assert {option: getattr(run, option) for option in options} == options
    assert not enqueue_job(made).is_new


def test_a_disabled_job_is_not_started():
    with pytest.raises(JobDisabled, match=r"'Sum' is disabled\. Enable it"):
        enqueue_job(job(is_enabled=False), actor="somebody")
    assert not Run.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_job_whose_function_is_gone():
    with pytest.raises(NotRegistered, match="lifecycle_gone"):
        enqueue_job(job(task="tests.tasks.lifecycle_gone"))
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "wrong"), [({"a": "1"}, "a"), ({"a": 1, "c": 1}, "c"), ({"a": 1, "b": None}, "b"), ({"b": 1}, "a")]
)
def test_arguments_that_do_not_fit(arguments, wrong):
    with pytest.raises(ParameterError) as caught:
        enqueue_job(job(), arguments=arguments, actor="somebody")
    assert set(caught.value.errors) == {wrong}
    assert not Run.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("stored", ["[1]", "5", "no json", "null", ""])
def test_stored_arguments_that_are_no_object(stored):
    made = job()
    Job.objects.update(arguments_json=stored)
    made.refresh_from_db()
    with pytest.raises(ParameterError, match="the stored parameters of the job 'Sum' are no JSON object; edit the job"):
        enqueue_job(made, actor="somebody")
    assert not Run.objects.exists()


def test_who_submitted_it_is_written_down():
    ann = User.objects.create(username="ann")
    made = job()
    run = enqueue_job(made, actor=ann, note="month end")
    assert (fresh(run).submitted_by_key, fresh(run).submitted_by_name) == (str(ann.pk), "ann")
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_type, entry.object_id, entry.object_name) == ("run", "job", str(made.pk), "Sum")
    assert (entry.actor_name, entry.note, entry.details_json) == ("ann", "month end", f'{{"run": {run.pk}}}')


def test_deleting_a_job_rewrites_no_history():
    made = job()
    run = enqueue_job(made)
    number = made.pk
    made.delete()
    job(name="Another")
    assert (fresh(run).job_id, fresh(run).job_name) == (number, "Sum")
    drain()
    assert fresh(run).state == "succeeded"


def test_given_options_come_in_the_place_of_the_jobs(clock):
    made = job(priority=5, queue="q", unique_key="k")
    before = Job.objects.values().get()
    options = {"priority": -3, "queue": "other", "unique_key": None, "run_after": timedelta(hours=1)}
    run = fresh(enqueue_job(made, options=options))
    assert (run.priority, run.queue, run.unique_key, run.unique_hash) == (-3, "other", "", None)
    assert (run.state, run.due_at) == ("scheduled", clock.now() + timedelta(hours=1))
    assert Job.objects.values().get() == before


def test_options_that_are_not_given_stay_those_of_the_job():
    run = fresh(enqueue_job(job(priority=5, queue="q", on_lost="fail", max_losses=2), options={"priority": 1}))
    assert (run.priority, run.queue, run.on_lost, run.max_losses) == (1, "q", "fail", 2)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"colour": "red"}, "Unknown option 'colour'"),
        ({"priority": 101}, "priority"),
        ({"queue": ""}, "queue must be"),
        ({"run_after": 5}, "run_after must be"),
        ({"unique_key": "x" * 256}, "unique_key must be"),
    ],
)
def test_options_that_do_not_fit(options, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        enqueue_job(job(), options=options, actor="somebody")
    assert not Run.objects.exists()
    assert not AuditEntry.objects.exists()
