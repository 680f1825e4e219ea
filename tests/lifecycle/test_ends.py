"""Many ends in one statement are the same as each in its own."""

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from jobs.core.states import Reason
from jobs.lifecycle.database import connection
from jobs.lifecycle.ends import write_ends
from jobs.models import Run
from tests.lifecycle.support import any_speed, failure, rolled_back, row, stored, success, take

pytestmark = pytest.mark.django_db

# What became of a claimed run before its outcome is written; the last two are still this worker's.
FATES = ("another claim", "another worker", "queued again", "ended", "owned", "owned")
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
RESULTS = st.one_of(st.none(), TEXTS.map(lambda text: f'"{text}"'))


def meet(fate: str, run) -> None:
    changes = {
        "another claim": {"claim_no": run.claim_no + 1},
        "another worker": {"worker_id": run.worker_id + 1},
        "queued again": {"state": "queued", "worker_id": None},
        "ended": {"state": "failed"},
        "owned": {},
    }[fate]
    if changes:
        Run.objects.filter(pk=run.id).update(**changes)


def write(outcomes):
    with transaction.atomic():
        return write_ends(connection(), outcomes)


def an_outcome(run, result, is_failure, message):
    if is_failure:
        return failure(run, message, result_json=result)
    reason = {"reason": Reason.RESULT_NOT_STORED, "reason_arguments": {"message": message}} if message else {}
    return success(run, result_json=result, **reason)


@any_speed
@given(st.lists(st.tuples(st.sampled_from(FATES), RESULTS, st.booleans(), TEXTS), min_size=1, max_size=12))
def test_together_as_one_by_one(examples):
    with rolled_back():
        for _ in examples:
            stored()
        taken = take(len(examples))
        outcomes = [an_outcome(run, *rest) for run, (_, *rest) in zip(taken, examples, strict=True)]
        for run, (fate, *_) in zip(taken, examples, strict=True):
            meet(fate, run)
        before = {run.id: row(run) for run in taken}
        with rolled_back():
            expected_owned = {key for outcome in outcomes for key in write([outcome])}
            expected = [row(run) for run in taken]
        assert write(outcomes) == expected_owned
        assert [row(run) for run in taken] == expected
        for run, (fate, *_) in zip(taken, examples, strict=True):
            assert (run.key in expected_owned) == (fate == "owned")
            assert (row(run) == before[run.id]) == (fate != "owned")


def test_more_than_fit_into_one_statement():
    """By their number, and by the length of their results."""
    for _ in range(230):
        stored()
    outcomes = [success(run, result_json=f'"{run.id}"') for run in take(230)]
    for outcome in outcomes[:5]:
        outcome.result_json = f'"{"x" * 400_000}"'
    assert write(outcomes) == {outcome.run.key for outcome in outcomes}
    found = dict(Run.objects.values_list("pk", "result_json"))
    assert found == {outcome.run.id: outcome.result_json for outcome in outcomes}


def test_of_a_run_that_is_owned_again_the_claim_decides():
    """A late outcome of the first claim beside one of the second."""
    stored(), stored()
    first, other = take(2)
    Run.objects.filter(pk=first.id).update(state="queued", worker_id=None)
    (second,) = take(1)
    assert write([success(first, result_json="1"), success(other), success(second, result_json="2")]) == {
        second.key,
        other.key,
    }
    assert row(first)["result_json"] == "2"
