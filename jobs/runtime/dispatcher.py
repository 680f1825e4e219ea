"""The one place in a process that talks to the database about runs."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from jobs.conf import Settings
from jobs.core import clock, wake
from jobs.core.log import Log
from jobs.core.wake import Flag
from jobs.lifecycle import claim as claims
from jobs.lifecycle import rescue as rescues
from jobs.lifecycle import workers
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.finish import finish
from jobs.lifecycle.promote import next_due_at, promote
from jobs.lifecycle.report import write_reports
from jobs.models import Worker
from jobs.runtime.context import RunContext
from jobs.runtime.heartbeat import DeclaredDead, Heartbeat
from jobs.runtime.hold import Batch, Hold
from jobs.runtime.lookahead import LONGEST_WAIT_SECONDS

logger = Log("jobs")

REPORT_SECONDS = 1.0
DUE_LOOK_SECONDS = 0.02


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
        self.hold = Hold(executor, stopping=self.stopping, woken=self.woken, max_log_bytes=settings.MAX_LOG_BYTES)
        self._executor = executor
        self._settings = settings
        self._queues = queues
        self._heartbeat = Heartbeat(
            settings, stays=stays, kind=kind, executor=executor.name, threads=executor.threads, queues=queues
        )
        self._paused: frozenset[str] = frozenset()
        self._next_due_at = None
        self._look_at = {"due": 0.0, "locked": 0.0, "paused": 0.0, "report": 0.0}
        self._stop_requested_at = self._deadline = float("inf")
        self._is_leaving = False
        self._must_reconcile = False
        self._one_by_one = False

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
        self.hold.gather()
        if self._is_time("report", REPORT_SECONDS):
            self.hold.gather_news()
        limit = self._limit()
        if not self._is_anything_to_do(limit):
            return False
        try:
            with transaction.atomic(using=alias()):
                claimed = self._transact(connection(), limit)
        except DeclaredDead:
            self._start_over()
        except Exception:
            self._heartbeat.rolled_back()
            self._must_reconcile = True  # the commit may have happened although its answer was lost
            raise
        else:
            self._committed(claimed)
        return True

    def write_one_by_one(self) -> None:
        """After a data error: have the next cycle write each outcome in a savepoint of its own."""
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
        moments = [self._settings.POLL_SECONDS, self._heartbeat.due_in, self._deadline - now]
        if self._next_due_at is not None and not self.stopping.is_set():
            due_in = (self._next_due_at - clock.now()).total_seconds()
            moments.append(max(due_in, self._look_at["locked"] - now))
        if self.hold.is_anything_waiting:
            moments.append(LONGEST_WAIT_SECONDS)
        if self.hold.has_news:
            moments.append(self._look_at["report"] - now)
        return max(0.0, min(moments))

    def _limit(self) -> int:
        return 0 if self.stopping.is_set() or not self._heartbeat.is_fresh else self.hold.room

    def _is_anything_to_do(self, limit: int) -> bool:
        """Look, with single reads outside of any transaction, whether a write transaction is worth opening."""
        if self.hold.batch or self._must_reconcile or self._heartbeat.due_in <= 0 or self.stopping.is_set():
            return True
        db = connection()
        self._next_due_at = next_due_at(db)
        if self._is_due(clock.now()):
            self._look_at["due"] = 0.0
            return self._look_at["locked"] <= clock.monotonic()
        return bool(limit and claims.best_waiting(db, 1, self._queues, self._pauses(db)))

    def _is_due(self, now: datetime) -> bool:
        return self._next_due_at is not None and self._next_due_at <= now

    def _pauses(self, db) -> frozenset[str]:
        if self._is_time("paused", self._settings.POLL_SECONDS):
            self._paused = workers.paused_queues(db)
        return self._paused

    def _transact(self, db, limit: int) -> list[claims.ClaimedRun]:
        """Everything that one transaction does, in the order that matters; returns what is now held and unstarted."""
        now, batch = clock.now(), self.hold.batch
        is_stopping = self.stopping.is_set()  # asked once: a stop that is asked for from here on is the next cycle's
        claimed = self.hold.reconcile(claims.owned_by(db, self.worker_id)) if self._must_reconcile else []
        if is_stopping:
            limit = 0
            self.hold.gather()  # what has ended while this transaction waited for the database
            batch.releases += claimed
            claimed = []
        if self._heartbeat.due_in <= 0:
            rescues.rescue(db, self._heartbeat.beat(db), now)
        write_reports(db, batch.reports, now, is_replay=self._must_reconcile, one_by_one=self._one_by_one)
        batch.outcomes = self.hold.keep_stored(finish(db, batch.outcomes, one_by_one=self._one_by_one))
        claims.release(db, batch.releases)
        if is_stopping:
            self._step_of_stop(db, now)
        if self._is_time("due", DUE_LOOK_SECONDS) and not promote(db, now) and self._is_due(now):
            self._look_at["locked"] = clock.monotonic() + DUE_LOOK_SECONDS  # others have it: no spinning meanwhile
        if limit:
            claimed += claims.claim(
                db, worker_id=self.worker_id, limit=limit, now=now, queues=self._queues, paused=self._pauses(db)
            )
        return claimed

    def _step_of_stop(self, db, now) -> None:
        """Let the running functions end; when they have, or the time is over, hand back what is left, and leave."""
        is_over = not self.hold or clock.monotonic() >= self._deadline
        self._is_leaving = is_over and not self.hold.has_deliveries
        if self._is_leaving:
            rescues.interrupt(db, self.hold.runs, now)
        workers.mark(db, self.worker_id, Worker.State.STOPPED if self._is_leaving else Worker.State.STOPPING, now)

    def _committed(self, claimed: list[claims.ClaimedRun]) -> None:
        self._heartbeat.committed()
        self._must_reconcile = self._one_by_one = False
        self.is_done = self._is_leaving
        finished, self.hold.batch = self.hold.batch.outcomes, Batch()
        wake.finished_runs.announce(outcome.run.id for outcome in finished)
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
