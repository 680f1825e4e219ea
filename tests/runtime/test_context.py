"""`jobs.current_run()`: what a function can ask and tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jobs
from jobs.models import Run
from jobs.runtime.context import CurrentRun
from jobs.testing import drain
from tests.runtime.support import PATIENCE, wait_until

pytestmark = pytest.mark.django_db


class TestOutsideOfARun:
    """A task function that is called as a plain function works all the same."""

    def test_there_is_a_stand_in(self):
        run = jobs.current_run()
        assert (run.id, run.attempt, run.task, run.should_stop) == (None, None, None, False)
        run.progress(1, total=2, message="nothing happens")

    def test_a_task_function_called_plainly(self, task):
        @task
        def count(n: int) -> int:
            jobs.current_run().progress(n, total=n)
            return n

        assert count(3) == 3
        assert not Run.objects.exists()

    @pytest.mark.parametrize("amount", ["1", None, True, 1j, [1]])
    def test_a_wrong_amount_is_refused_there_too(self, amount):
        with pytest.raises(TypeError, match="done must be a number"):
            jobs.current_run().progress(amount)

    @given(st.sampled_from([float("nan"), float("inf"), -1, -0.5]))
    def test_so_is_one_that_means_nothing(self, amount):
        with pytest.raises(ValueError, match="total must be finite and not negative"):
            CurrentRun().progress(0, total=amount)


class TestInsideARun:
    def test_it_knows_itself(self, task):
        seen = []

        @task
        def look():
            run = jobs.current_run()
            seen.append((run.id, run.task, run.attempt, run.should_stop))

        run = look.enqueue()
        again = look.enqueue()
        Run.objects.filter(pk=again.pk).update(losses=1, interruptions=2)
        drain()
        assert seen == [(run.pk, look.name, 1, False), (again.pk, look.name, 4, False)]

    def test_it_ends_with_the_function(self, ok):
        ok.enqueue()
        drain()
        assert jobs.current_run().id is None

    def test_a_function_that_calls_another_stays_in_its_own_run(self, task):
        seen = []

        @task
        def inner():
            seen.append(jobs.current_run().id)

        @task
        def outer():
            inner()

        run = outer.enqueue()
        drain()
        assert seen == [run.pk]

    def test_a_wrong_amount_fails_the_run_with_its_words(self, task):
        @task
        def bad():
            jobs.current_run().progress(-1)

        run = bad.enqueue()
        drain()
        run.refresh_from_db()
        assert run.state == "failed"
        assert "done must be finite and not negative, got -1" in run.reason


def told(run):
    run.refresh_from_db()
    return run.progress_done, run.progress_total, run.progress_message


class TestProgress:
    @pytest.fixture
    def working(self, by_hand, ok, clock):
        """A dispatcher, the context of a run at work, and the run."""
        run = ok.enqueue()
        dispatcher = by_hand()
        dispatcher.cycle()
        return dispatcher, dispatcher.executor.begin(), run

    def test_it_is_stored_at_most_once_a_second(self, working, clock):
        dispatcher, context, run = working
        writes = []
        for done in range(100):  # ten seconds in steps of a tenth
            context.progress(done, total=100, message=f"step {done}")
            dispatcher.cycle()
            if not writes or told(run)[0] != writes[-1]:
                writes.append(told(run)[0])
            clock.move(0.1)
        assert 9 <= len(writes) <= 12
        assert writes == sorted(writes, key=lambda done: done or 0)

    def test_the_dispatcher_wakes_up_for_it(self, working, clock):
        dispatcher, context, _ = working
        clock.move(0.25)
        context.progress(1)
        dispatcher.cycle()
        assert dispatcher.next_look_in() == pytest.approx(0.75)

    def test_what_was_told_last_is_stored_at_the_end(self, working, clock):
        dispatcher, context, run = working
        context.progress(1, total=3, message="one")
        context.progress(3, total=3, message="three")
        dispatcher.executor.end(context)
        dispatcher.cycle()
        assert told(run) == (3, 3, "three")

    def test_without_a_total(self, working, clock):
        dispatcher, context, run = working
        context.progress(7.5)
        clock.move(1)
        dispatcher.cycle()
        assert told(run) == (7.5, None, "")
        assert run.progress_at == clock.now()

    def test_nothing_told_is_nothing_written(self, working, clock):
        dispatcher, _, run = working
        clock.move(1)
        assert dispatcher.cycle() is False
        assert told(run) == (None, None, "")

    def test_of_a_run_that_others_took_it_is_dropped(self, working, clock):
        dispatcher, context, run = working
        Run.objects.filter(pk=run.pk).update(claim_no=2)
        context.progress(1)
        clock.move(1)
        dispatcher.cycle()
        assert told(run) == (None, None, "")


@pytest.mark.django_db(transaction=True)
def test_progress_is_seen_while_the_function_works(start, task, gate):
    @task
    def work():
        jobs.current_run().progress(1, total=2, message="half")
        gate()

    run = work.enqueue()
    start(threads=1)
    gate.wait_until_entered()
    wait_until(lambda: told(run) == (1, 2, "half"))
    assert run.state == "running"


@pytest.mark.django_db(transaction=True)
def test_a_function_sees_that_it_should_stop(start, task, gate):
    seen = []

    @task
    def work():
        seen.append(jobs.current_run().should_stop)
        gate()
        seen.append(jobs.current_run().should_stop)

    run = work.enqueue()
    scheduler = start(threads=1)
    gate.wait_until_entered()
    scheduler.request_stop(PATIENCE)
    gate.open()
    assert scheduler.stopped.wait(PATIENCE)
    run.refresh_from_db()
    assert (seen, run.state) == ([False, True], "succeeded")
