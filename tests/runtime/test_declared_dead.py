"""A worker that was frozen for too long: others have taken it for dead, and its runs with it."""

import pytest

from jobs.models import Run, Worker
from tests.runtime.support import states

pytestmark = pytest.mark.django_db


def declare_dead(worker_id) -> None:
    """What another worker does to one that it takes for dead: its runs are free again, and soon somebody else's."""
    Worker.objects.filter(pk=worker_id).update(state="dead")
    Run.objects.filter(state="running", worker_id=worker_id).update(state="queued", worker_id=None)


@pytest.fixture(params=["marked", "deleted"])
def die(request):
    """Both ways of learning of one's own death: the row is marked, or gone."""

    def die(worker_id):
        declare_dead(worker_id)
        if request.param == "deleted":
            Worker.objects.filter(pk=worker_id).delete()

    return die


def test_it_goes_on_as_somebody_new(by_hand, ok, clock, die):
    dispatcher = by_hand()
    before = dispatcher.worker_id
    die(before)
    clock.move(10)
    dispatcher.cycle()
    assert dispatcher.worker_id != before
    assert Worker.objects.get(pk=dispatcher.worker_id).state == "alive"
    run = ok.enqueue()
    dispatcher.cycle()
    dispatcher.executor.run_one(seconds=1.0)
    dispatcher.cycle()
    run.refresh_from_db()
    assert (run.state, run.worker_id) == ("succeeded", dispatcher.worker_id)


def test_outcomes_of_its_old_life_are_dropped(by_hand, ok, clock, die, caplog):
    run = ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    dispatcher.executor.run_one(error="old", seconds=1.0)
    die(dispatcher.worker_id)
    clock.move(10)
    dispatcher.cycle()
    assert states([run]) == ["queued"]
    assert not run.attempts.exists()
    assert "taken for dead" in caplog.text


def test_an_outcome_that_comes_after_the_new_start_is_dropped_too(by_hand, ok, clock, die, caplog):
    run = ok.enqueue()
    dispatcher = by_hand(threads=2)
    dispatcher.cycle()
    old = dispatcher.executor.begin()
    die(dispatcher.worker_id)
    clock.move(10)
    dispatcher.cycle()  # the new identity
    dispatcher.cycle()  # claims the same run again
    new = dispatcher.executor.begin()
    assert (new.id, old.id) == (run.pk, run.pk)
    dispatcher.executor.end(old, error="old", seconds=1.0)
    dispatcher.cycle()
    assert states([run]) == ["running"]
    assert f"run {run.pk} was taken from this worker" in caplog.text
    dispatcher.executor.end(new, seconds=1.0)
    dispatcher.cycle()
    run.refresh_from_db()
    assert (run.state, run.failures) == ("succeeded", 0)


def test_what_it_had_claimed_and_not_started_never_starts(by_hand, ok, clock, die):
    ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    assert len(dispatcher.executor.waiting) == 1
    die(dispatcher.worker_id)
    Run.objects.all().update(state="cancelled")
    clock.move(10)
    dispatcher.cycle()
    assert dispatcher.executor.waiting == []


def test_a_thread_refuses_a_claim_of_the_old_identity(by_hand, ok, clock, die):
    """The thread has taken it out of the heap already, so that nobody can take it back."""
    ok.enqueue()
    dispatcher = by_hand()
    dispatcher.cycle()
    context = dispatcher.executor.waiting[0]
    die(dispatcher.worker_id)
    clock.move(10)
    assert dispatcher.may_start(context)  # nobody knows of the death yet, and the last sign is fresh enough
    dispatcher.cycle()
    assert not dispatcher.may_start(context)


def test_threads_that_still_work_for_the_old_identity_count_as_occupied(by_hand, ok, clock, die):
    ok.enqueue_many([{}] * 2)
    dispatcher = by_hand(threads=2)
    executor = dispatcher.executor
    dispatcher.cycle()
    old = executor.begin()
    executor.begin()
    die(dispatcher.worker_id)
    clock.move(10)
    dispatcher.cycle()
    dispatcher.cycle()
    assert executor.waiting == []  # both threads are busy with what is not theirs any more
    executor.end(old, seconds=1.0)
    dispatcher.cycle()
    assert len(executor.waiting) == 1


def test_it_forgets_whom_it_has_seen(by_hand, clock, die):
    """Eyes that have seen nothing yet: the new identity must not judge by what the old one saw."""
    dispatcher, other = by_hand(), by_hand()
    for _ in range(4):
        clock.move(10)
        dispatcher.cycle()  # `other` is silent, nearly long enough
    die(dispatcher.worker_id)
    clock.move(10)
    dispatcher.cycle()
    clock.move(10)
    dispatcher.cycle()
    assert Worker.objects.get(pk=other.worker_id).state == "alive"


class TestNothingStartsWithoutAFreshSign:
    """When half of LOST_AFTER_SECONDS has passed since the last sign, others may soon take the runs."""

    def test_a_claimed_run_is_given_back_instead(self, by_hand, ok, clock):
        run = ok.enqueue()
        dispatcher = by_hand()
        dispatcher.cycle()
        clock.move(22.5)
        assert dispatcher.executor.begin() is None
        dispatcher.cycle()
        run.refresh_from_db()
        assert (run.state, run.attempt) == ("queued", 1)
        dispatcher.cycle()  # that was a sign of life: all is well again
        assert dispatcher.executor.begin().id == run.pk

    def test_just_before_that_it_starts(self, by_hand, ok, clock):
        ok.enqueue()
        dispatcher = by_hand()
        dispatcher.cycle()
        clock.move(22.4)
        assert dispatcher.executor.begin() is not None

    def test_nothing_is_claimed_either(self, by_hand, ok, clock):
        run = ok.enqueue()
        dispatcher = by_hand()
        clock.move(22.5)
        dispatcher.cycle()
        assert states([run]) == ["queued"]
        assert dispatcher.executor.waiting == []
