"""What has its time: delayed runs, start deadlines, slots of schedules; and edits of schedules that nobody told of."""

from datetime import datetime
from itertools import islice

from jobs.core import clock
from jobs.lifecycle import deadline, fire, overlap, planning, promote
from jobs.lifecycle.database import short_look, short_transaction
from jobs.lifecycle.upcoming import next_moment

DUE_LOOK_SECONDS = 0.02
# An edit of a schedule, whichever way it was made, takes effect within this and a moment.
EDITS_SECONDS = 10.0
FORGOTTEN_SECONDS = 60.0
# Schedules that are planned anew in one transaction.
EDITS_AT_ONCE = 100


class Agenda:
    """When a dispatcher must do something because of the time, and doing it. Used by its thread alone."""

    def __init__(self):
        self._next_at: datetime | None = None
        self._look_at = self._locked_until = self._edits_at = self._forgotten_at = 0.0  # monotonic
        self._edited: dict[int, str] = {}
        self._known: dict[int, tuple] = {}

    def look(self, db) -> None:
        """Read when the next thing is due."""
        self._look_at = clock.monotonic() + DUE_LOOK_SECONDS
        self._next_at = next_moment(db)

    def is_time_for_edits(self) -> bool:
        return self._edits_at <= clock.monotonic()

    def edits_in(self, now: float) -> float:
        """Seconds until it is time to look for edits (`now`: monotonic)."""
        return self._edits_at - now

    def look_for_edits(self, db) -> None:
        """Find schedules that somebody has edited by a way that plans nothing."""
        self._edits_at = clock.monotonic() + EDITS_SECONDS
        self._edited = planning.edited(db, self._known)

    @property
    def has_edits(self) -> bool:
        return bool(self._edited)

    @property
    def is_due(self) -> bool:
        return self._next_at is not None and self._next_at <= clock.now()

    @property
    def may_act(self) -> bool:
        """Whether to try what is due: not at once again what somebody else has locked."""
        return self._locked_until <= clock.monotonic()

    def due_in(self, now: float) -> float:
        """Seconds until there is something to do, by the clocks as they stand (`now`: monotonic)."""
        if self._next_at is None:
            return float("inf")
        return max((self._next_at - clock.now()).total_seconds(), self._locked_until - now)

    def act(self, db, now: datetime) -> bool:
        """Do what is due, as much as one transaction may; False if there may be more runs to be made ready, for the
        next one at once: the most urgent one may be among them. Looks at most every DUE_LOOK_SECONDS. Needs a
        transaction."""
        self._replan_some(db, now)
        at = clock.monotonic()
        if self._forgotten_at <= at:
            self._forgotten_at = at + FORGOTTEN_SECONDS
            overlap.look_after_forgotten(db, now)
        if at < self._look_at:
            return True
        self.look(db)
        return not self.is_due or self._do_what_is_due(db, now)

    def _replan_some(self, db, now: datetime) -> None:
        if some := dict(islice(self._edited.items(), EDITS_AT_ONCE)):
            planning.replan(db, some, now)
            self._edited = {each: rule for each, rule in self._edited.items() if each not in some}

    def _do_what_is_due(self, db, now: datetime) -> bool:
        promoted = promote.promote(db, now)
        fired = fire.fire(db, now)
        skipped = deadline.skip_late(db, now)  # also what was late when it was fired
        are_all_ready = promoted < promote.BATCH and skipped < deadline.BATCH
        if fired or not are_all_ready:
            self._look_at = 0.0  # there may be more
        elif not promoted and not skipped:
            self._locked_until = clock.monotonic() + DUE_LOOK_SECONDS
        return are_all_ready

    def let_go(self) -> bool:
        """For who leaves when nothing is left to do: let runs go that waited for others, which are looked at only now
        and then. Whether there were any. Makes its own transaction."""
        with short_look() as db:
            schedules = fire.with_waiting(db)
        if not schedules:
            return False
        with short_transaction() as db:
            return bool(fire.admit_of(db, schedules, clock.now()))

    def rolled_back(self) -> None:
        """What the last `act` did is undone: look at all of it again."""
        self._look_at = self._edits_at = self._forgotten_at = 0.0

    def hurry(self) -> None:
        """Have the next `act` do something, even if the last one is only a moment ago."""
        self._look_at = 0.0
