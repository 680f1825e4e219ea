"""Whatever a worker writes about a run changes it only while this claim owns it."""

import pytest

from jobs.lifecycle.database import connection
from jobs.lifecycle.report import Report, write_reports
from jobs.lifecycle.rescue import interrupt, rescue
from jobs.models import Attempt, Run, RunLog
from tests.lifecycle.support import (
    clock,
    death,
    failure,
    give_back,
    new_worker,
    retry,
    row,
    snooze,
    stop,
    stored,
    success,
    take_one,
    write,
)

pytestmark = pytest.mark.django_db


def released_and_claimed_again(taken):
    """By the same worker: only the number of the claim tells the two apart."""
    give_back(taken)
    assert take_one(worker=taken.worker_id).key != taken.key


def released(taken):
    give_back(taken)


def rescued(taken):
    rescue(connection(), [taken.worker_id], clock.now())


def rescued_and_running_elsewhere(taken):
    rescued(taken)
    Run.objects.filter(pk=taken.id).update(state="queued")
    take_one(worker=new_worker().pk)


def interrupted(taken):
    interrupt(connection(), [taken], clock.now())


def finished(taken):
    write(success(taken, result_json='"first"'))


def failed(taken):
    write(failure(taken, "first"))


def of_another_worker(taken):
    taken.worker_id += 1


def of_a_claim_to_come(taken):
    taken.claim_no += 1


def deleted(taken):
    Run.objects.filter(pk=taken.id).delete()


def write_outcome(make, **how):
    return lambda taken: write(make(taken, **how))


def write_outcome_alone(taken):
    return write(success(taken, result_json='"late"'), one_by_one=True)


def report(taken):
    write_reports(connection(), [Report(taken, 1, (5.0, 10.0, "late"), "late line\n")], clock.now())


LOST = [
    released, released_and_claimed_again, rescued, rescued_and_running_elsewhere, interrupted, finished, failed,
    of_another_worker, of_a_claim_to_come, deleted,
]  # fmt: skip
WRITES = {
    "success": write_outcome(success, result_json='"late"'),
    "failure": write_outcome(failure, message="late"),
    "retry": write_outcome(retry, message="late"),
    "snooze": write_outcome(snooze),
    "stop": write_outcome(stop),
    "death": write_outcome(death),
    "one by one": write_outcome_alone,
    "release": give_back,
    "interrupt": interrupted,
    "report": report,
}


def everything():
    return [list(model.objects.order_by("pk").values()) for model in (Run, Attempt, RunLog)]


@pytest.mark.parametrize("lose", LOST, ids=lambda lose: lose.__name__)
@pytest.mark.parametrize("late_write", WRITES)
def test_a_late_write_changes_nothing(lose, late_write):
    stored(), stored()
    worker = new_worker()
    taken, other = take_one(worker=worker.pk), take_one(worker=new_worker().pk)
    lose(taken)
    before = everything()
    assert not WRITES[late_write](taken)
    assert everything() == before
    assert write(success(other)) != []


@pytest.mark.parametrize("late_write", WRITES)
def test_the_same_write_in_time_changes_the_run(late_write):
    """So that the test above cannot pass because nothing is ever written."""
    run = stored()
    taken = take_one(worker=new_worker().pk)
    before = row(run)
    WRITES[late_write](taken)
    assert row(run) != before


def test_a_dropped_outcome_is_logged_and_keeps_none_of_the_others(caplog):
    runs = [stored(ready_in=n) for n in range(3)]
    taken = [take_one(worker=7) for _ in runs]
    give_back(taken[1])
    outcomes = [success(each) for each in taken]
    assert write(*outcomes) == [outcomes[0], outcomes[2]]
    (record,) = caplog.records
    assert (
        record.getMessage()
        == f"run {runs[1].pk} is no longer this worker's (claim 1): its outcome succeeded is dropped"
    )


def test_of_two_outcomes_of_one_claim_the_first_counts():
    run = stored()
    taken = take_one()
    first = success(taken, result_json="1")
    assert write(first, failure(taken)) == [first]
    assert (row(run)["state"], row(run)["failures"]) == ("succeeded", 0)
    assert not Attempt.objects.exists()
