"""What the database refuses: one bad row keeps none of the others."""

import pytest
from django.db import DatabaseError, OperationalError

from jobs.lifecycle import finish as finishing
from jobs.models import Attempt
from tests.lifecycle.support import failure, fresh, retry, snooze, stop, stored, success, take, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs():
    return [stored(ready_in=n) for n in range(3)]


@pytest.fixture
def taken(runs):
    return take(3, worker=7)


def test_together_they_fail_together(runs, taken, refuse):
    refuse(f"NEW.id = {runs[1].pk} AND NEW.result_json IS NOT NULL")
    with pytest.raises(DatabaseError):
        write(*(success(each, result_json='"r"') for each in taken))
    assert [fresh(run).state for run in runs] == ["running"] * 3


def test_a_result_that_the_database_refuses(runs, taken, refuse):
    refuse(f"NEW.id = {runs[1].pk} AND NEW.result_json IS NOT NULL")
    outcomes = [success(each, result_json='"r"') for each in taken]
    assert write(*outcomes, one_by_one=True) == outcomes
    assert [fresh(run).state for run in runs] == ["succeeded"] * 3
    assert [fresh(run).result for run in runs] == ["r", None, "r"]
    assert [fresh(run).reason_code for run in runs] == ["", "result_not_stored", ""]
    assert fresh(runs[1]).reason_arguments["message"].startswith("the database refused it (")


def test_a_value_that_the_driver_refuses(runs, taken):
    outcomes = [success(each, result_json='"\ud800"' if each is taken[0] else '"r"') for each in taken]
    assert write(*outcomes, one_by_one=True) == outcomes
    assert [fresh(run).result for run in runs] == [None, "r", "r"]
    assert fresh(runs[0]).reason_arguments["message"].startswith("the database refused it (")


def test_an_attempt_that_the_database_refuses(runs, taken, refuse):
    refuse(f"NEW.run_id = {runs[1].pk} AND NEW.message <> ''", table="jobs_attempt", event="INSERT")
    write(*(failure(each, "it broke") for each in taken), one_by_one=True)
    assert [fresh(run).state for run in runs] == ["failed"] * 3
    assert [fresh(run).failures for run in runs] == [1, 1, 1]
    attempts = Attempt.objects.order_by("run_id").values_list("run_id", "error_class", "message", "traceback")
    said = "it broke", "Traceback …\nValueError: it broke"
    assert list(attempts) == [
        (runs[0].pk, "ValueError", *said),
        (runs[1].pk, "ValueError", "", ""),
        (runs[2].pk, "ValueError", *said),
    ]


def test_what_is_stored_in_part_is_stored_once(runs, taken, refuse):
    """The first try had changed the row when the attempt was refused: it is undone before the second."""
    refuse(f"NEW.run_id = {runs[0].pk} AND NEW.traceback <> ''", table="jobs_attempt", event="INSERT")
    assert len(write(failure(taken[0]), one_by_one=True)) == 1
    assert (fresh(runs[0]).failures, Attempt.objects.count()) == (1, 1)


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_row_that_cannot_be_written_at_all_keeps_none_of_the_others(runs, taken, refuse, bad):
    refuse(f"NEW.id = {runs[bad].pk}")
    outcomes = [success(each, result_json='"r"') for each in taken]
    written = write(*outcomes, one_by_one=True)
    assert written == [outcome for n, outcome in enumerate(outcomes) if n != bad]
    assert [fresh(run).state for run in runs] == ["running" if n == bad else "succeeded" for n in range(3)]


def test_a_database_that_is_away_is_no_bad_row(runs, taken, monkeypatch):
    """It is raised, so that the whole cycle is done again, and no result is given up for it."""

    def away(*args):
        raise OperationalError("database is locked")

    outcome = success(taken[0], result_json='"r"')
    with monkeypatch.context() as patch:
        patch.setattr(finishing, "_write", away)
        with pytest.raises(OperationalError):
            write(outcome, one_by_one=True)
    assert write(outcome, one_by_one=True) == [outcome]
    assert fresh(runs[0]).result == "r"


@pytest.mark.parametrize(("end", "state"), [(retry, "scheduled"), (snooze, "scheduled"), (stop, "cancelled")])
def test_words_that_the_database_refuses_change_nothing_of_what_comes_next(runs, taken, refuse, end, state):
    refuse(f"NEW.run_id = {runs[1].pk} AND NEW.message LIKE '%refused%'", table="jobs_attempt", event="INSERT")
    outcomes = [end(each, "what is refused") for each in taken]
    assert write(*outcomes, one_by_one=True) == outcomes
    assert [fresh(run).state for run in runs] == [state] * 3
    messages = Attempt.objects.order_by("run_id").values_list("message", flat=True)
    assert list(messages) == ["what is refused", "", "what is refused"]
