"""Many runs at once: all or none, in their order."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from jobs.errors import ParameterError
from jobs.lifecycle.insert import COLUMNS, ROWS_A_STATEMENT
from jobs.models import Run
from jobs.testing import drain
from tests.lifecycle.support import fresh, take
from tests.tasks import lifecycle_add, lifecycle_note, lifecycle_single

pytestmark = pytest.mark.django_db
NOW = datetime(2027, 1, 1, tzinfo=UTC)
MANY = ROWS_A_STATEMENT + 3  # more than one statement


def test_every_run_is_the_one_of_its_parameters(clock):
    runs = lifecycle_add.enqueue_many([{"a": n} for n in range(MANY)])
    assert [run.arguments["a"] for run in runs] == list(range(MANY))
    assert [fresh(run).arguments for run in runs] == [run.arguments for run in runs]
    assert len({run.pk for run in runs}) == Run.objects.count() == MANY


HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("run_after", "first"),
    [(None, NOW), (-HOUR, NOW), (NOW - HOUR, NOW), (NOW, NOW), (HOUR, NOW + HOUR), (NOW + HOUR, NOW + HOUR)],
    ids=str,
)
def test_each_has_its_own_microsecond_in_order(clock, run_after, first):
    """Also when all are due at one moment."""
    runs = lifecycle_add.using(run_after=run_after).enqueue_many([{"a": n} for n in range(99)])
    assert len({run.pk for run in runs}) == 99
    stored = [fresh(run) for run in runs]
    assert [run.arguments["a"] for run in stored] == list(range(99))
    assert [run.ready_at for run in stored] == [first + n * timedelta(microseconds=1) for n in range(99)]
    assert [run.order_key - stored[0].order_key for run in stored] == list(range(99))
    assert {run.state for run in stored} == {"queued" if first == NOW else "scheduled"}


def test_they_are_rows_like_any_other(clock):
    many = lifecycle_add.using(priority=-3, queue="q").enqueue_many([{"a": 1}])[0]
    one = lifecycle_add.using(priority=-3, queue="q").enqueue(1)
    for column in COLUMNS:
        assert getattr(fresh(many), column) == getattr(fresh(one), column), column
    assert many.is_new
    many.save()
    assert Run.objects.count() == 2


def test_they_are_taken_in_their_order(clock):
    runs = lifecycle_add.enqueue_many([{"a": n} for n in range(60)])
    assert [run.id for run in take(60)] == [run.pk for run in runs]


def test_what_comes_later_does_not_pass_them(clock, notes):
    lifecycle_note.enqueue_many([{"what": n} for n in range(5)])
    clock.move(1)
    lifecycle_note.enqueue("later")
    drain()
    assert notes == [0, 1, 2, 3, 4, "later"]


@pytest.mark.parametrize("run_after", [HOUR, NOW + HOUR])
def test_delayed_ones_keep_their_order(clock, notes, run_after):
    lifecycle_note.using(run_after=run_after).enqueue_many([{"what": n} for n in range(5)])
    assert drain() == 0
    clock.move(3601)
    assert drain() == 5
    assert notes == [0, 1, 2, 3, 4]


def test_one_that_does_not_fit_leaves_none(wakes):
    with pytest.raises(ParameterError) as caught:
        lifecycle_add.enqueue_many([{"a": 1}, {"a": "2"}, {"a": 3}])
    assert list(caught.value.errors) == ["a"]
    assert not Run.objects.exists()


def test_one_that_the_database_refuses_leaves_none(refuse):
    refuse("""NEW.arguments_json = '{"a":600}'""", event="INSERT")
    with pytest.raises(Exception, match="refused by a test"):
        lifecycle_add.enqueue_many([{"a": n} for n in range(700)])
    assert not Run.objects.exists()
    with pytest.raises(Exception, match="refused by a test"):
        lifecycle_add.using(unique_key="k").enqueue_many([{"a": 600}])
    assert not Run.objects.exists()


@pytest.mark.parametrize("given", [[5], [None], ["a"], [[1]], {"a": 1}, "what", 5])
def test_what_is_no_list_of_dicts_is_refused_with_a_word_about_it(given):
    with pytest.raises(TypeError, match="a list with a dict of parameters for each run, got "):
        lifecycle_add.enqueue_many(given)
    assert not Run.objects.exists()


def test_none_at_all(django_assert_num_queries):
    assert lifecycle_add.enqueue_many([]) == []


def test_from_a_generator():
    assert len(lifecycle_add.enqueue_many({"a": n} for n in range(3))) == 3


def test_with_one_unique_key_there_is_one_run():
    runs = lifecycle_single.enqueue_many([{"number": n} for n in range(3)])
    assert [run.pk for run in runs] == [runs[0].pk] * 3
    assert [run.is_new for run in runs] == [True, False, False]
    assert Run.objects.get().arguments == {"number": 0}


def test_it_takes_few_statements(clock, django_assert_max_num_queries):
    with django_assert_max_num_queries(2 + 20):  # SQLite of Django 5.2: 999 parameters, 49 rows a statement
        lifecycle_add.enqueue_many([{"a": n} for n in range(900)])


@pytest.mark.django_db(transaction=True)
class TestTransaction:
    def test_one_wake_up_for_all(self, wakes):
        lifecycle_add.enqueue_many([{"a": n} for n in range(30)])
        assert wakes == ["wake"]

    def test_rolled_back_with_the_callers(self, wakes):
        with transaction.atomic():
            lifecycle_add.enqueue_many([{"a": 1}, {"a": 2}])
            transaction.set_rollback(True)
        assert not Run.objects.exists()
        assert wakes == []
