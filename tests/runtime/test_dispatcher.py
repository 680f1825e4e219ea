"""A cycle: reads first, and writes everything that has gathered in one transaction."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Attempt, Queue, Run, Worker
from tests.runtime.support import HandExecutor, states

# PostgreSQL looks in a transaction too, of reads, because only there a look can be kept from waiting for a lock.
WRITES = ("INSERT", "UPDATE", "DELETE") + (() if connection.vendor == "postgresql" else ("BEGIN", "COMMIT"))


class Statements:
    """The SQL of a block."""

    def __enter__(self):
        self._captured = CaptureQueriesContext(connection).__enter__()
        return self

    def __exit__(self, *exc_info):
        self._captured.__exit__(*exc_info)
        self.all = [query["sql"] for query in self._captured.captured_queries]

    def beginning(self, *words: str) -> list[str]:
        return [sql for sql in self.all if sql.upper().startswith(words)]


@pytest.mark.django_db(transaction=True)
class TestTransactions:
    def test_with_nothing_to_do_it_only_reads(self, by_hand, ok, clock):
        dispatcher = by_hand(threads=2)
        dispatcher.cycle()  # the first sign of life
        with Statements() as statements:
            assert dispatcher.cycle() is False
        assert statements.beginning(*WRITES) == []
        assert len(statements.beginning("SELECT")) <= 3

    def test_a_run_for_later_opens_no_transaction_before_its_time(self, by_hand, ok, clock):
        ok.using(run_after=timedelta(seconds=5)).enqueue()
        dispatcher = by_hand()
        dispatcher.cycle()
        with Statements() as statements:
            assert dispatcher.cycle() is False
        assert statements.beginning(*WRITES) == []
        assert dispatcher.next_look_in() == 1.0  # POLL_SECONDS: the run comes later
        clock.move(4.5)
        dispatcher.cycle()
        assert dispatcher.next_look_in() == pytest.approx(0.5)
        clock.move(0.5)
        assert dispatcher.cycle() is True
        assert len(dispatcher.executor.waiting) == 1

    def test_runs_that_become_due_one_after_the_other_start_without_delay(self, by_hand, ok, clock):
        for milliseconds in (1000, 1005):
            ok.using(run_after=timedelta(milliseconds=milliseconds)).enqueue()
        dispatcher = by_hand(threads=2)
        dispatcher.cycle()
        for started, pause in enumerate((1.0, 0.005), start=1):
            clock.move(pause)
            dispatcher.cycle()
            assert len(dispatcher.executor.waiting) == started

    def test_an_enqueue_in_this_process_wakes_it(self, by_hand, ok, clock):
        dispatcher = by_hand()
        dispatcher.cycle()
        assert not dispatcher.woken.is_set()
        ok.enqueue()
        assert dispatcher.woken.is_set()
        dispatcher.cycle()
        dispatcher.leave()
        ok.enqueue()
        assert not dispatcher.woken.is_set()

    def test_with_all_threads_busy_a_waiting_run_opens_no_transaction(self, by_hand, ok, clock):
        ok.enqueue_many([{}] * 2)
        dispatcher = by_hand(threads=1)
        dispatcher.cycle()
        dispatcher.executor.begin()
        with Statements() as statements:
            assert dispatcher.cycle() is False
        assert statements.beginning(*WRITES) == []

    def test_many_outcomes_and_claims_share_one_commit(self, by_hand, ok, clock):
        runs = ok.enqueue_many([{}] * 10)
        dispatcher = by_hand(threads=5)
        dispatcher.cycle()
        while dispatcher.executor.waiting:
            dispatcher.executor.run_one(seconds=1.0)
        with Statements() as statements:
            dispatcher.cycle()
        assert len(statements.beginning("BEGIN")) == len(statements.beginning("COMMIT")) == 1
        assert states(runs) == ["succeeded"] * 5 + ["running"] * 5

    def test_no_transaction_is_open_when_functions_are_handed_over(self, by_hand, ok, clock):
        seen = []

        class Looking(HandExecutor):
            def submit(self, context):
                seen.append(connection.in_atomic_block)
                super().submit(context)

        ok.enqueue_many([{}] * 3)
        by_hand(executor=Looking(3)).cycle()
        assert seen == [False] * 3


@pytest.mark.django_db
class TestQueues:
    def test_all_queues_are_served_unless_some_are_named(self, by_hand, ok, clock):
        runs = {name: ok.using(queue=name).enqueue() for name in ("default", "a", "b")}
        some = by_hand(threads=5, queues=["a", "b"])
        some.cycle()
        assert some.executor.waiting_ids == [runs["a"].pk, runs["b"].pk]
        every = by_hand(threads=5)
        every.cycle()
        assert every.executor.waiting_ids == [runs["default"].pk]

    @pytest.mark.parametrize("queues", [None, ["lane"]])
    def test_a_pause_holds_within_poll_seconds_and_so_does_its_end(self, by_hand, ok, clock, queues):
        dispatcher = by_hand(threads=5, queues=queues)
        ok.using(queue="lane").enqueue()
        dispatcher.cycle()
        assert len(dispatcher.executor.waiting) == 1
        lane = Queue.objects.create(name="lane", is_paused=True)
        held = ok.using(queue="lane").enqueue()
        clock.move(1.0)  # POLL_SECONDS
        assert dispatcher.cycle() is False
        assert states([held]) == ["queued"]
        lane.is_paused = False
        lane.save()
        assert dispatcher.next_look_in() <= 1.0
        clock.move(1.0)
        dispatcher.cycle()
        assert held.pk in dispatcher.executor.waiting_ids

    def test_a_paused_queue_holds_up_no_other(self, by_hand, ok, clock):
        Queue.objects.create(name="lane", is_paused=True)
        ok.using(queue="lane", priority=-100).enqueue_many([{}] * 20)
        free = ok.enqueue()
        dispatcher = by_hand(threads=5)
        dispatcher.cycle()
        assert dispatcher.executor.waiting_ids == [free.pk]


@pytest.mark.django_db
class TestOutcomes:
    def test_a_success(self, by_hand, ok, clock):
        run = ok.enqueue()
        dispatcher = by_hand()
        dispatcher.cycle()
        clock.move(1.0)
        dispatcher.executor.run_one(result="[1]")
        dispatcher.cycle()
        run.refresh_from_db()
        assert (run.state, run.result, run.reason, run.failures) == ("succeeded", [1], "", 0)
        assert run.finished_at == clock.now()
        assert run.worker_id == dispatcher.worker_id
        assert not run.attempts.exists()

    def test_a_failure_leaves_an_attempt(self, by_hand, ok, clock):
        run = ok.enqueue()
        dispatcher = by_hand()
        dispatcher.cycle()
        dispatcher.executor.run_one(error="no such account")
        dispatcher.cycle()
        run.refresh_from_db()
        assert (run.state, run.reason_code, run.failures) == ("failed", "function_raised", 1)
        attempt = Attempt.objects.get(run=run)
        assert (attempt.number, attempt.outcome, attempt.message) == (1, "failed", "no such account")
        assert attempt.worker_id == dispatcher.worker_id

    def test_an_outcome_of_a_run_that_others_took_meanwhile_is_dropped(self, by_hand, ok, clock, caplog):
        run, other = ok.enqueue_many([{}] * 2)
        dispatcher = by_hand(threads=2)
        dispatcher.cycle()
        Run.objects.filter(pk=run.pk).update(worker_id=dispatcher.worker_id + 1, claim_no=2)
        dispatcher.executor.run_one(error="late")
        dispatcher.executor.run_one()
        dispatcher.cycle()
        run.refresh_from_db()
        assert (run.state, run.worker_id, run.failures) == ("running", dispatcher.worker_id + 1, 0)
        assert not run.attempts.exists()
        assert states([other]) == ["succeeded"]
        assert f"run {run.pk} is no longer this worker's" in caplog.text

    def test_a_new_claim_of_the_same_worker_is_fenced_off_as_well(self, by_hand, ok, clock):
        run = ok.enqueue()
        dispatcher = by_hand()
        dispatcher.cycle()
        Run.objects.filter(pk=run.pk).update(claim_no=2)
        dispatcher.executor.run_one(error="late")
        dispatcher.cycle()
        assert states([run]) == ["running"]

    def test_the_worker_has_a_row_that_says_what_it_is(self, by_hand, ok):
        dispatcher = by_hand(threads=3, queues=["a", "b"])
        worker = Worker.objects.get(pk=dispatcher.worker_id)
        assert (worker.state, worker.kind, worker.executor, worker.threads) == ("alive", "test", "hand", 3)
        assert worker.queues == "a, b"
        assert worker.name == f"{worker.host}:{worker.pid}"
