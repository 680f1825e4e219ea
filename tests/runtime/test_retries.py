"""Functions that raise: which are tried again, when, and what is then told. `docs/retries.md` is the promise."""

import json
from datetime import timedelta

import pytest

import jobs
from jobs.core.clock import now
from jobs.core.retry import LONGEST_PAUSE
from jobs.lifecycle import enqueue_job
from jobs.models import Job, Run
from jobs.testing import drain

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

MINUTE = timedelta(minutes=1)


class Busy(ConnectionError):
    pass


@pytest.fixture
def raising(task):
    """Register a function that raises what it is given, and enqueue a run of it."""

    def make(error, **options):
        @task(**options)
        def raise_it():
            raise error.with_traceback(None)  # the same one each time

        return raise_it.enqueue()

    return make


def after_one(run) -> Run:
    """The run after its next execution."""
    drain()
    run.refresh_from_db()
    return run


def pause(run) -> float:
    return (run.due_at - now()).total_seconds()


def all_pauses(run, clock) -> list[float]:
    """Run it to its end; how long it waited before each further attempt."""
    found = []
    while not after_one(run).is_finished:
        found.append(pause(run))
        clock.move(found[-1])
    return found


class TestAttempts:
    def test_without_words_there_is_one(self, raising):
        run = after_one(raising(Busy("no")))
        assert (run.state, run.failures, run.max_attempts) == ("failed", 1, 1)

    @pytest.mark.parametrize("most", [2, 5])
    def test_as_many_as_it_may_have(self, raising, clock, most):
        run = raising(Busy("no"), max_attempts=most, backoff=MINUTE)
        assert all_pauses(run, clock) == [60] * (most - 1)
        assert (run.state, run.failures, run.executions) == ("failed", most, most)
        assert run.reason == "The function raised tests.runtime.test_retries.Busy: no"
        numbers = [(attempt.number, attempt.outcome, attempt.message) for attempt in run.attempts.order_by("number")]
        assert numbers == [(number, "failed", "no") for number in range(1, most + 1)]

    def test_one_that_succeeds_at_last(self, task, clock):
        @task(max_attempts=5, backoff=MINUTE)
        def third_time() -> int:
            if jobs.current_run().attempt < 3:
                raise Busy
            return jobs.current_run().attempt

        run = third_time.enqueue()
        assert all_pauses(run, clock) == [60, 60]
        assert (run.state, run.result, run.failures, run.reason) == ("succeeded", 3, 2, "")

    def test_while_it_waits_it_says_why(self, raising):
        run = after_one(raising(Busy("no"), max_attempts=3))
        assert (run.state, run.is_finished) == ("scheduled", False)
        assert run.reason == (
            "Attempt 1 of 3 raised tests.runtime.test_retries.Busy: no. It is tried again."
        )  # fmt: skip

    def test_it_keeps_its_unique_key_until_it_has_ended(self, task, clock):
        @task(max_attempts=2, backoff=MINUTE, unique_key="k")
        def busy():
            raise Busy

        run = busy.enqueue()
        drain()
        assert busy.enqueue().pk == run.pk
        clock.move(60)
        drain()
        assert busy.enqueue().pk != run.pk

    def test_in_a_testcase_only_the_last_failure_undoes_what_its_function_stored(self, task, clock):
        """Each attempt by itself: what one that failed has stored is undone, what the next one stores is kept."""

        @task(max_attempts=2, backoff=MINUTE)
        def store():
            attempt = jobs.current_run().attempt
            Job.objects.create(name=f"attempt {attempt}", task="x")
            if attempt == 1:
                raise Busy

        all_pauses(store.enqueue(), clock)
        assert [job.name for job in Job.objects.all()] == ["attempt 2"]


class Odd(BaseException):
    pass


RULES = {
    "any exception": (ValueError(), {}, True),
    "one that is no Exception": (SystemExit(1), {}, False),
    "Ctrl-C": (KeyboardInterrupt(), {}, False),
    "one of its own that is no Exception": (Odd(), {}, False),
    "that one, named": (SystemExit(1), {"retry_on": SystemExit}, True),
    "one of those named": (Busy(), {"retry_on": (TimeoutError, ConnectionError)}, True),
    "none of those named": (ValueError(), {"retry_on": (TimeoutError, ConnectionError)}, False),
    "one to give up on": (Busy(), {"give_up_on": ConnectionError}, False),
    "one of both": (Busy(), {"retry_on": ConnectionError, "give_up_on": (KeyError, Busy)}, False),
    "nothing is tried again": (Busy(), {"retry_on": ()}, False),
    "Retry": (jobs.Retry("later"), {}, True),
    "Retry, whatever retry_on says": (jobs.Retry("later"), {"retry_on": KeyError}, True),
    "GiveUp": (jobs.GiveUp("never"), {}, False),
    "GiveUp, whatever retry_on says": (jobs.GiveUp("never"), {"retry_on": (Exception, jobs.GiveUp)}, False),
    "its own TimeoutError": (TimeoutError("mine"), {}, True),
}


@pytest.mark.parametrize(("error", "rules", "is_repeated"), RULES.values(), ids=RULES)
def test_what_is_tried_again(raising, error, rules, is_repeated):
    run = after_one(raising(error, max_attempts=2, **rules))
    assert (run.state, run.failures) == ("scheduled" if is_repeated else "failed", 1)


def test_giving_up_says_so(raising):
    run = after_one(raising(jobs.GiveUp("no such account"), max_attempts=9))
    assert run.reason == "It gave up, because trying again would not help: no such account"


@pytest.mark.parametrize(
    "spoil", [{"task": "nobody.knows"}, {"arguments_json": '{"surprise":1}'}, {"arguments_json": "[]"}], ids=str
)
def test_what_cannot_be_called_is_not_tried_again(raising, spoil):
    run = raising(Busy(), max_attempts=9)
    Run.objects.update(**spoil)
    assert (after_one(run).state, run.failures) == ("failed", 1)


class TestPauses:
    @pytest.mark.parametrize(
        ("backoff", "pauses"),
        [
            (MINUTE, [60, 60, 60]),
            (jobs.Backoff(first=timedelta(seconds=2), factor=3, jitter=0), [2, 6, 18]),
            (jobs.Backoff(first=timedelta(seconds=2), factor=3, cap=timedelta(seconds=5), jitter=0), [2, 5, 5]),
            (lambda failures, error: failures * MINUTE, [60, 120, 180]),
            (lambda failures, error: failures / 2, [0.5, 1, 1.5]),
            (lambda failures, error: {"no": 7}[str(error)], [7, 7, 7]),
            (lambda failures, error: 0, []),  # all of them at once
        ],
    )
    def test_they_are_as_the_function_says(self, raising, clock, backoff, pauses):
        assert all_pauses(raising(Busy("no"), max_attempts=4, backoff=backoff), clock) == pauses

    def test_without_words_they_double_from_ten_seconds(self, raising, clock):
        found = all_pauses(raising(Busy("no"), max_attempts=5), clock)
        assert found == pytest.approx([10, 20, 40, 80], rel=0.1)

    def test_none_is_too_long_for_a_date(self, raising):
        run = after_one(raising(Busy(), max_attempts=2, backoff=lambda failures, error: 1e300))
        assert run.due_at == now() + LONGEST_PAUSE

    @pytest.mark.parametrize("given", [None, "soon", -1, float("nan"), True, timedelta(-1)], ids=str)
    def test_nonsense_from_the_function_that_says_it_ends_the_run_with_both_tracebacks(self, raising, given):
        run = after_one(raising(Busy("no"), max_attempts=2, backoff=lambda failures, error: given))
        assert run.state == "failed"
        (attempt,) = run.attempts.all()
        assert "what the backoff of runtime.raise_it returns must be" in attempt.message
        assert "Busy: no" in attempt.traceback

    def test_an_exception_from_the_function_that_says_it(self, raising):
        def backoff(failures, error):
            raise SystemExit("no idea")

        run = after_one(raising(Busy("no"), max_attempts=2, backoff=backoff))
        (attempt,) = run.attempts.all()
        assert (run.state, attempt.error_class) == ("failed", "SystemExit")
        assert "Busy: no" in attempt.traceback

    @pytest.mark.parametrize(("after", "seconds"), [(5, 5), (MINUTE, 60), (0, 0)])
    def test_a_retry_may_say_how_long(self, raising, after, seconds):
        assert pause(after_one(raising(jobs.Retry(after=after), max_attempts=2, backoff=2 * MINUTE))) == seconds

    def test_one_that_does_not_waits_as_always(self, raising):
        assert pause(after_one(raising(jobs.Retry("busy"), max_attempts=2, backoff=2 * MINUTE))) == 120

    def test_a_retry_counts(self, raising, clock):
        run = raising(jobs.Retry("busy", after=5), max_attempts=3)
        assert all_pauses(run, clock) == [5, 5]
        assert (run.state, run.reason) == ("failed", "The function raised jobs.errors.Retry: busy")


class TestWhoSaysHow:
    """What a run was stored with counts, then what its job says, then its function."""

    @pytest.fixture
    def busy(self, task):
        @task(max_attempts=2, backoff=MINUTE)
        def busy():
            raise Busy

        return busy

    def test_using(self, busy, clock):
        run = busy.using(max_attempts=3, backoff=timedelta(seconds=5)).enqueue()
        assert all_pauses(run, clock) == [5, 5]

    def test_a_job(self, busy, clock):
        backoff = jobs.Backoff(timedelta(seconds=5), jitter=0).to_json()
        job = Job.objects.create(name="often", task=busy.name, max_attempts=4, backoff_json=json.dumps(backoff))
        assert all_pauses(enqueue_job(job), clock) == [5, 10, 20]

    def test_a_job_that_says_nothing(self, busy, clock):
        assert all_pauses(enqueue_job(Job.objects.create(name="as it is", task=busy.name)), clock) == [60]

    def test_a_repetition_by_hand_has_the_same(self, busy, clock):
        run = busy.using(max_attempts=3, backoff=timedelta(seconds=5)).enqueue()
        all_pauses(run, clock)
        assert all_pauses(run.run_again(), clock) == [5, 5]

    @pytest.mark.parametrize(
        "stored",
        ["", "nonsense", "[]", "5", '{"backoff": null}', '{"backoff": {"first": -1}}', '{"backoff": "soon"}',
         "[" * 100_000, '{"backoff": {"first": 1%s, "factor": 2, "cap": null, "jitter": 0}}' % ("0" * 400),
         '{"backoff": {"first": 1e308, "factor": 2, "cap": null, "jitter": 0}}', '{"progress_timeout": "x"}'],
    )  # fmt: skip
    def test_what_somebody_has_written_into_the_row_loses_nothing(self, busy, clock, stored):
        run = busy.enqueue()
        Run.objects.update(options_json=stored)
        assert all_pauses(run, clock) == [60]
        assert run.state == "failed"

    @pytest.mark.parametrize("stored", ["nonsense", "[" * 100_000, '{"first": 1}'], ids=lambda text: text[:9])
    def test_pauses_of_a_job_that_cannot_be_read_are_told_and_nothing_is_stored(self, busy, stored):
        job = Job.objects.create(name="often", task=busy.name, backoff_json=stored)
        with pytest.raises(ValueError, match="The backoff of the job 'often' cannot be read"):
            enqueue_job(job)
        assert not Run.objects.exists()


class TestSnooze:
    def test_it_costs_no_attempt_and_has_no_limit(self, task, clock):
        @task(max_attempts=1)
        def wait_for_it():
            if jobs.current_run().attempt <= 20:
                raise jobs.Snooze(5, "not there yet")

        run = wait_for_it.enqueue()
        assert all_pauses(run, clock) == [5] * 20
        assert (run.state, run.failures, run.snoozes, run.executions) == ("succeeded", 0, 20, 21)
        assert {attempt.message for attempt in run.attempts.all()} == {"not there yet"}

    def test_a_failure_after_it_is_the_first_one(self, task, clock):
        @task(max_attempts=2, backoff=MINUTE)
        def busy():
            if jobs.current_run().attempt == 1:
                raise jobs.Snooze(5)
            raise Busy

        run = busy.enqueue()
        assert all_pauses(run, clock) == [5, 60]
        assert (run.failures, run.snoozes) == (2, 1)

    @pytest.mark.parametrize("after", [None, "soon", -1, True])
    def test_nonsense_is_an_error_of_the_function(self, task, after):
        @task
        def wait_for_it():
            raise jobs.Snooze(after)

        run = after_one(wait_for_it.enqueue())
        assert run.state == "failed"
        assert "after must be a timedelta or a number of seconds" in run.reason


def test_cancelling_itself(raising):
    run = after_one(raising(jobs.Cancelled("nothing to do"), max_attempts=9))
    assert (run.state, run.reason, run.failures) == ("cancelled", "It has cancelled itself.", 0)
    (attempt,) = run.attempts.all()
    assert (attempt.outcome, attempt.message) == ("cancelled", "nothing to do")
    assert run.executions == 1


def test_a_repetition_is_logged_as_a_warning_and_the_end_as_an_error(raising, clock, caplog):
    run = raising(Busy("no"), max_attempts=2, backoff=MINUTE)
    all_pauses(run, clock)
    told = [(each.levelname, each.getMessage()) for each in caplog.records if each.name == "jobs"]
    who = f"run {run.pk} (runtime.raise_it)"
    assert told == [("WARNING", f"{who} failed and is tried again in 0:01:00"), ("ERROR", f"{who} failed")]
