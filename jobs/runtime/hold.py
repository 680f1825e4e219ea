"""The claimed runs of this process, on their way from the claim to the outcome."""

from collections import deque
from collections.abc import Collection

from jobs.core import clock
from jobs.core.log import Log
from jobs.core.wake import Flag
from jobs.lifecycle import rules
from jobs.lifecycle.claim import ClaimedRun
from jobs.lifecycle.finish import Finished
from jobs.lifecycle.outcome import Outcome
from jobs.lifecycle.report import Report
from jobs.runtime.batch import Batch
from jobs.runtime.context import RunContext
from jobs.runtime.limits import Limits
from jobs.runtime.lookahead import LONGEST_WAIT_SECONDS, LookAhead

logger = Log("jobs")


class Hold:
    """Used by the dispatcher's thread alone, but for `deliver`, by which the functions' threads hand in outcomes.

    A run is found by its claim, not by its number: it may come back to this process under another claim while an old
    thread still works on it.
    """

    def __init__(self, executor, *, stopping: Flag, woken: Flag, max_log_bytes: int):
        self.batch = Batch()
        self._executor = executor
        self._stopping = stopping
        self._woken = woken
        self._max_log_bytes = max_log_bytes
        self._delivered: deque[tuple[RunContext, Outcome | None]] = deque()
        self._held: dict[tuple[int, int, int], RunContext] = {}
        self._limited: dict[tuple[int, int, int], RunContext] = {}  # those whose time may run out
        self._ghosts: set[tuple[int, int, int]] = set()  # functions that run on after others took their runs
        self._given_up: set[tuple[int, int, int]] = set()  # ended, but the database refuses to store it
        self._look_ahead = LookAhead()

    def deliver(self, context: RunContext, outcome: Outcome | None) -> None:
        """Take the outcome of a run; None: its function was not started."""
        self._delivered.append((context, outcome))
        self._woken.set()

    def __bool__(self) -> bool:
        return bool(self._held)

    @property
    def is_busy(self) -> bool:
        """Whether a claimed run is still to end, or an end still to be written."""
        return bool(self._held or self._delivered or self.batch)

    @property
    def has_deliveries(self) -> bool:
        """Whether outcomes have come in that are not in the batch yet."""
        return bool(self._delivered)

    @property
    def has_functions(self) -> bool:
        """Whether functions still run, also those whose runs others have."""
        return bool(self._held or self._ghosts)

    @property
    def runs(self) -> list[ClaimedRun]:
        return [context.run for context in self._held.values()]

    @property
    def room(self) -> int:
        """How many runs may be claimed: idle threads, and the look-ahead."""
        ahead = self._look_ahead.allowed if self._executor.can_look_ahead else 0
        return max(0, self._executor.threads + ahead - len(self._held) - len(self._ghosts))

    @property
    def is_anything_waiting(self) -> bool:
        """Whether claimed runs outnumber the threads, so that some have not started."""
        return len(self._held) + len(self._ghosts) > self._executor.threads

    @property
    def has_news(self) -> bool:
        return any(context.has_news for context in self._held.values())

    def admit(self, claimed: list[ClaimedRun]) -> None:
        """Hand claimed runs to the executor, best first."""
        claimed_at = clock.monotonic()
        for run in claimed:
            quiet = rules.progress_timeout(run.options_json)
            limits = Limits(run.timeout_seconds, quiet and quiet.total_seconds())
            context = RunContext(
                run,
                limits=limits,
                stopping=self._stopping,
                claimed_at=claimed_at,
                max_log_bytes=self._max_log_bytes,
            )
            self._held[context.key] = context
            if limits:
                self._limited[context.key] = context
            self._executor.submit(context)

    def gather(self) -> None:
        """Move into the batch what has ended since the last time, and claims that have waited for too long."""
        seconds = []
        while self._delivered:
            context, outcome = self._delivered.popleft()
            if self._held.pop(context.key, None) is None:
                self._ghosts.discard(context.key)
                logger.warning("run %s was taken from this worker while it ran: its outcome is dropped", context.id)
            elif outcome is None:
                self.batch.releases.append(context.run)
            else:
                seconds.append(outcome.seconds)
                self.batch.outcomes.append(outcome)
                self._report(context, is_last=True)
        self._look_ahead.learn(seconds, was_anything_released=self._take_back_waiting())

    def gather_news(self) -> None:
        """Move into the batch what running functions have told."""
        for context in self._held.values():
            self._report(context)

    def _report(self, context: RunContext, *, is_last: bool = False) -> None:
        progress, log = context.take_progress(), context.log.take(is_last=is_last)
        if progress is not None or log:
            context.reports += 1
            self.batch.reports.append(Report(context.run, context.reports, progress, log))

    def _take_back_waiting(self) -> bool:
        """When a claim has waited unstarted for too long (at a stop: at all), take all that wait out of the heap, to be
        released. All or none: one left behind would start before a better one that was taken out."""
        waiting = self._waiting_too_long()
        # The least urgent first: a thread that becomes idle meanwhile must get the best one.
        waiting.sort(key=lambda context: (context.run.order_key, context.id), reverse=True)
        taken = [context for context in waiting if self._executor.take_back(context)]
        for context in taken:
            self._release(context)
        return bool(taken)

    def _waiting_too_long(self) -> list[RunContext]:
        if not self.is_anything_waiting and not self._stopping.is_set():
            return []
        waiting = [context for context in self._held.values() if not context.has_started]
        oldest = clock.monotonic() - LONGEST_WAIT_SECONDS
        is_too_long = any(context.claimed_at < oldest for context in waiting)
        return waiting if is_too_long or self._stopping.is_set() else []

    def ask_to_end(self, run_ids: Collection[int]) -> None:
        """Somebody has asked these runs to end: take back what has not started, and tell the others' functions."""
        for context in [context for context in self._held.values() if context.id in run_ids]:
            context.is_asked_to_end = True
            if not context.has_started and self._executor.take_back(context):
                self._release(context)
            else:
                context.stop_if_must()

    @property
    def next_limit_in(self) -> float:
        """Seconds until the time of a function runs out."""
        return min((context.limits.next_in for context in self._limited.values()), default=float("inf"))

    def stop_overdue(self) -> None:
        """See whose time is over, and make those end that can be made to."""
        for key, context in list(self._limited.items()):
            if key not in self._held:
                del self._limited[key]
            elif context.overdue is not None:
                if not context.is_told_overdue:
                    context.is_told_overdue = True
                    logger.warning("run %s (%s) should have ended and still works: %s",
                                   context.id, context.task, context.overdue.sentence)  # fmt: skip
                context.stop_if_must()

    @property
    def has_overdue(self) -> bool:
        return any(context.is_told_overdue for context in self._limited.values())

    def _release(self, context: RunContext) -> None:
        del self._held[context.key]
        self.batch.releases.append(context.run)

    def settle(self, written: Batch, finished: Finished, later: Batch) -> None:
        """A transaction is committed: `written` was tried, `later` is kept for the next one. Outcomes that were neither
        stored nor kept are not this worker's, or cannot be stored: their functions have run, and must not run again."""
        self._given_up |= _keys(written.outcomes) - _keys(finished.stored) - _keys(finished.locked)
        later.outcomes += finished.locked
        self.batch = later

    def reconcile(self, owned: list[ClaimedRun]) -> list[ClaimedRun]:
        """Compare with the runs that the database says this worker owns: drop outcomes that are stored already, and
        return the claims that memory does not know."""
        owned_keys = {run.key for run in owned}
        self.batch.outcomes = [outcome for outcome in self.batch.outcomes if outcome.run.key in owned_keys]
        known = {outcome.run.key for outcome in self.batch.outcomes} | {run.key for run in self.batch.releases}
        known |= self._held.keys() | self._given_up
        return [run for run in owned if run.key not in known]

    def kill_functions(self) -> None:
        """End those that can be ended: their runs are handed back now."""
        for context in self._held.values():
            context.kill()

    def forget(self) -> None:
        """Drop everything: others have taken these runs. Threads that still work count as occupied until they end."""
        for key, context in self._held.items():
            if not self._executor.take_back(context):
                self._ghosts.add(key)
                context.kill()
        self._held.clear()
        self._limited.clear()
        self.batch = Batch()


def _keys(outcomes: list[Outcome]) -> set[tuple[int, int, int]]:
    return {outcome.run.key for outcome in outcomes}
