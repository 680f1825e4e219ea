"""The one place in a process that talks to the database about runs."""

from collections.abc import Sequence
from datetime import datetime

from jobs.conf import Settings
from jobs.core import clock, wake
from jobs.core.log import Log
from jobs.core.wake import Flag
from jobs.lifecycle import claim as claims
from jobs.lifecycle import rescue as rescues
from jobs.lifecycle import workers
from jobs.lifecycle.database import locked_by_others, short_look, short_transaction
from jobs.lifecycle.finish import Finished, finish
from jobs.lifecycle.report import write_reports
from jobs.models import Worker
from jobs.runtime.agenda import Agenda
from jobs.runtime.batch import Batch
from jobs.runtime.context import RunContext
from jobs.runtime.heartbeat import DeclaredDead, Heartbeat
from jobs.runtime.hold import Hold
from jobs.runtime.lookahead import LONGEST_WAIT_SECONDS

logger = Log("jobs")

REPORT_SECONDS = 1.0


class Dispatcher:
    """Claims runs for its executor and writes what becomes of them: one transaction a `cycle()`, in one thread.

    Other threads call `may_start` and `request_stop`, deliver to the hold, and set Flags; nothing else is shared.
    """

    def __init__(
        self, executor, settings: Settings, *, kind: str, queues: Sequence[str] | None = None, stays: bool = True
    ):
        self.woken = Flag()
        self.stopping = Flag()
        self.is_done = False
        self.had_work = False  # in the last cycle: beside signs of life
        self.hold = Hold(executor, stopping=self.stopping, woken=self.woken, max_log_bytes=settings.MAX_LOG_BYTES)
        self._executor = executor
        self._settings = settings
        self._queues = queues
        self._stays = stays
        self._heartbeat = Heartbeat(
            settings, stays=stays, kind=kind, executor=executor.name, threads=executor.threads, queues=queues
        )
        self._paused: frozenset[str] = frozenset()
        self._agenda = Agenda()
        self._look_at = {"next due": 0.0, "paused": 0.0, "report": 0.0, "cancelled": 0.0}
        self._stop_requested_at = self._deadline = float("inf")
        self._is_leaving = False
        self._must_reconcile = False
        self._one_by_one = False
        self._written = Batch(), Finished(), Batch()

    @property
    def worker_id(self) -> int | None:
        return self._heartbeat.worker_id

    def may_start(self, context: RunContext) -> bool:
        """Whether a function may start now: its claim is surely still this worker's. Called by its thread."""
        is_mine = self._heartbeat.is_fresh and context.run.worker_id == self._heartbeat.worker_id
        return is_mine and not self.stopping.is_set()

    def request_stop(self, grace_seconds: float) -> None:
        """Claim no more, release what has not started, and leave when the running functions have ended or
        `grace_seconds` have passed. Called again, it can only shorten the time. May be called by any thread."""
        now = clock.monotonic()
        self._stop_requested_at = min(self._stop_requested_at, now)
        self._deadline = min(self._deadline, now + grace_seconds)
        self.stopping.set()
        self.woken.set()

    def enter(self) -> None:
        """Become a worker: a row in the database, an executor that works."""
        self._executor.start(may_start=self.may_start, deliver=self.hold.deliver)
        self._heartbeat.enter()
        wake.register(self.woken.set)

    def leave(self) -> None:
        wake.unregister(self.woken.set)
        self._executor.stop()

    def cycle(self) -> bool:
        """Write what has gathered, claim what there is room for, and say whether there was anything to do.

        Raises what the database raises. Nothing is lost by that: the next cycle writes the same batch again.
        """
        self.woken.clear()
        self.had_work = False
        self.hold.gather()
        self.hold.stop_overdue()
        if self._is_time("report", REPORT_SECONDS):
            self.hold.gather_news()
        self._look_around()
        limit = self._limit()
        if not self._is_anything_to_do(limit):
            return not self._stays and self._agenda.let_go()
        try:
            with short_transaction() as db:
                claimed = self._transact(db, limit)
        except DeclaredDead:
            self._start_over()
        except Exception:
            self._heartbeat.rolled_back()
            self._agenda.rolled_back()
            self._must_reconcile = True  # the commit may have happened although its answer was lost
            raise
        else:
            self._committed(claimed)
        return True

    def write_one_by_one(self) -> None:
        """After an error that one row has caused: have the next cycle write each outcome in a savepoint of its own, and
        leave for later what somebody else has locked."""
        self._one_by_one = True

    @property
    def stopping_for(self) -> float:
        """Seconds since the stop was asked for; negative while it was not."""
        return clock.monotonic() - self._stop_requested_at

    def is_overdue(self, seconds: float) -> bool:
        """Whether a stop should have ended more than `seconds` ago: at its deadline, or at once with nothing held."""
        end = self._deadline if self.hold.is_busy else self._stop_requested_at
        return clock.monotonic() > end + seconds

    def next_look_in(self) -> float:
        """Seconds until there may be something to do without a wake-up."""
        now = clock.monotonic()
        moments = [self._settings.POLL_SECONDS, self._heartbeat.due_in, self._deadline - now, self.hold.next_limit_in]
        if not self.stopping.is_set():
            moments += [self._agenda.due_in(now), self._agenda.edits_in(now)]
        if self.hold.is_anything_waiting:
            moments.append(LONGEST_WAIT_SECONDS)
        if self.hold:
            moments.append(self._look_at["cancelled"] - now)
        if self.hold.has_news:
            moments.append(self._look_at["report"] - now)
        return max(0.0, min(moments))

    def _look_around(self) -> None:
        """Read now and then what nobody announces."""
        if self._agenda.is_time_for_edits() and not self.stopping.is_set():
            with short_look() as db:
                self._agenda.look_for_edits(db)
        if self.hold and self._is_time("cancelled", REPORT_SECONDS):
            with short_look() as db:
                self.hold.ask_to_end(claims.asked_to_end(db, self.worker_id))

    def _limit(self) -> int:
        return 0 if self.stopping.is_set() or not self._heartbeat.is_fresh else self.hold.room

    def _is_anything_to_do(self, limit: int) -> bool:
        """Look, with single reads outside of any transaction, whether a write transaction is worth opening."""
        if self.hold.batch or self._must_reconcile or self._heartbeat.due_in <= 0 or self.stopping.is_set():
            return True
        if self._agenda.has_edits:
            return True
        # Without room not at every wake-up.
        if not (limit or self._agenda.is_due or self._is_time("next due", self._settings.POLL_SECONDS)):
            return False
        with short_look() as db:
            return self._is_anything_ready(db, limit)

    def _is_anything_ready(self, db, limit: int) -> bool:
        self._agenda.look(db)
        if self._agenda.is_due:
            self._agenda.hurry()
            return self._agenda.may_act
        return bool(limit and claims.best_waiting(db, 1, self._queues, self._pauses(db)))

    def _pauses(self, db) -> frozenset[str]:
        if self._is_time("paused", self._settings.POLL_SECONDS):
            self._paused = workers.paused_queues(db)
        return self._paused

    def _transact(self, db, limit: int) -> list[claims.ClaimedRun]:
        """Everything that one transaction does, in the order that matters; returns what is now held and unstarted."""
        now = clock.now()
        is_stopping = self.stopping.is_set()  # asked once: a stop that is asked for from here on is the next cycle's
        claimed = self.hold.reconcile(claims.owned_by(db, self.worker_id)) if self._must_reconcile else []
        if is_stopping:
            limit = 0
            self.hold.gather()  # what has ended while this transaction waited for the database
            self.hold.batch.releases += claimed
            claimed = []
        if self._heartbeat.due_in <= 0:
            rescues.rescue(db, self._heartbeat.beat(db), now)
            self._agenda.hurry()  # a run that was rescued may be too late by now
        self._write(db, now)
        if is_stopping:
            self._step_of_stop(db, now)
        elif not self._agenda.act(db, now):
            limit = 0
        if limit:
            claimed += claims.claim(
                db, worker_id=self.worker_id, limit=limit, now=now, queues=self._queues, paused=self._pauses(db)
            )
        return claimed

    def _write(self, db, now: datetime) -> None:
        """Write the batch; one by one, only what nobody else has locked."""
        batch, later = self.hold.batch, Batch()
        is_replay = self._must_reconcile or self._one_by_one  # what was kept for later may be older than this cycle
        if self._one_by_one:
            batch, later = batch.split(later_ids=locked_by_others(db, batch.run_ids))
        write_reports(db, batch.reports, now, is_replay=is_replay, one_by_one=self._one_by_one)
        finished = finish(db, batch.outcomes, one_by_one=self._one_by_one)
        if any(outcome.is_followed_by_another for outcome in finished.stored):
            self._agenda.hurry()  # something is due anew
        finished.cancelled = claims.release(db, batch.releases)
        self._written = batch, finished, later

    def _step_of_stop(self, db, now) -> None:
        """Let the running functions end; when they have, or the time is over, hand back what is left, and leave."""
        _, finished, later = self._written
        is_over = not (self.hold or finished.locked or later) or clock.monotonic() >= self._deadline
        self._is_leaving = is_over and not self.hold.has_deliveries
        if self._is_leaving:
            self.hold.kill_functions()
            rescues.interrupt(db, self.hold.runs, now)
        workers.mark(db, self.worker_id, Worker.State.STOPPED if self._is_leaving else Worker.State.STOPPING, now)

    def _committed(self, claimed: list[claims.ClaimedRun]) -> None:
        self._heartbeat.committed()
        self._must_reconcile = False
        self.is_done = self._is_leaving
        batch, finished, later = self._written
        self.had_work = bool(claimed or batch)
        self.hold.settle(batch, finished, later)
        self._one_by_one = bool(later)  # as long as somebody holds their locks
        wake.finished_runs.announce([*(outcome.run.id for outcome in finished.stored), *finished.cancelled])
        self.hold.admit(claimed)

    def _start_over(self) -> None:
        """Others have taken this worker for dead and its runs with it: forget them all and be somebody new."""
        logger.warning("worker %s was taken for dead: it drops what it held and goes on as a new one", self.worker_id)
        self.hold.forget()
        self._must_reconcile = False
        self._heartbeat.rolled_back()
        self._heartbeat.enter()

    def _is_time(self, what: str, interval: float) -> bool:
        now = clock.monotonic()
        if now < self._look_at[what]:
            return False
        self._look_at[what] = now + interval
        return True
