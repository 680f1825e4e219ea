"""The last runs of jobs."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.history import Result, last_results
from tests.database import plan_of, refresh_statistics
from tests.lifecycle.support import ended, stored

pytestmark = pytest.mark.django_db


def test_the_last_runs_of_each_job_with_the_oldest_first():
    first, second, third = ended(job_id=1), ended("failed", job_id=1), stored(job_id=1)
    other = ended("cancelled", job_id=2)
    ended(job_id=3)
    ended()
    assert last_results([1, 2, 9]) == {
        1: [Result(first.pk, "succeeded"), Result(second.pk, "failed"), Result(third.pk, "queued")],
        2: [Result(other.pk, "cancelled")],
    }


def test_no_more_than_asked_for():
    runs = [ended(job_id=1) for _ in range(25)]
    assert [result.id for result in last_results([1])[1]] == [run.pk for run in runs[5:]]
    assert [result.id for result in last_results([1], 2)[1]] == [run.pk for run in runs[23:]]


def test_no_jobs_need_no_statement(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert last_results([]) == {}


def test_one_statement_for_all_jobs(django_assert_num_queries):
    for number in range(1, 26):
        ended(job_id=number)
    with django_assert_num_queries(1):
        assert len(last_results(list(range(1, 26)))) == 25


def test_it_reads_an_index_and_sorts_nothing():
    for number in range(1000):
        ended(job_id=number % 100 + 1)
    refresh_statistics()
    with CaptureQueriesContext(connection) as captured:
        last_results([1, 2])
    plan = plan_of(captured[0]["sql"])
    assert plan.indexes == {"jobs_run_of_job"}, plan.text
    assert not plan.has_sort, plan.text
    assert not plan.has_scan, plan.text
