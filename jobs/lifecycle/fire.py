"""Firing: the slots of schedules that have come become runs. Any number of processes may do this at once.

A slot is done once: its schedule is locked while it is handled, what is done lies behind `last_slot_at`, also when the
history has been pruned, and UNIQUE (schedule, slot) is the last word.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from jobs.core import clock
from jobs.core.log import Log
from jobs.core.misfire import MOST_AT_ONCE, DueSlots, Misfire, Overlap, due_slots
from jobs.core.recurrence import Recurrence, just_before
from jobs.core.states import Reason, State
from jobs.lifecycle.database import lock_free
from jobs.lifecycle.enqueue import insert_new
from jobs.lifecycle.faults import is_lock_timeout, is_of_the_database, told
from jobs.lifecycle.free import due_by, take_free
from jobs.lifecycle.notify import ANYBODY, notify
from jobs.lifecycle.overlap import Open, admit, ask_to_end, end_unstarted, read_open, record_skipped, slots_told
from jobs.lifecycle.planning import readable
from jobs.lifecycle.slots import slot_run, slots_with_runs, taken_slots
from jobs.models import Job, Run, Schedule
from jobs.models.schedule import KEPT, PROBLEM_LENGTH

logger = Log("jobs")

# Schedules in one transaction, and the time after which no further one is begun: it has to be short.
BATCH, LONGEST_SECONDS = 20, 0.02
# When to try again what somebody else's lock has held up.
LOCKED_LOOK = timedelta(seconds=5)

# From some moment on: on SQLite a number, or no text at all, would come first for ever.
_IS_MOMENT = "look_at >= '0001-01-01 00:00:00'"
_DUE = f"SELECT id FROM jobs_schedule WHERE {_IS_MOMENT} AND look_at <= %s ORDER BY look_at LIMIT %s"
NEXT_LOOK = f"SELECT look_at AS moment FROM jobs_schedule WHERE {_IS_MOMENT} ORDER BY look_at LIMIT 1"


def fire(db, now: datetime) -> int:
    """Handle schedules whose slot has come, up to BATCH and while it takes no longer than LONGEST_SECONDS; how many it
    were. Needs a transaction.

    Each stands in a savepoint of its own: one that cannot be handled tells why, and stops none of the others. Those
    that somebody has locked are left for later.
    """
    due = due_by(db, _DUE, now)
    begin, handled = clock.monotonic(), 0
    for schedule in readable(db, take_free(BATCH, due, lambda ids: lock_free(db, "jobs_schedule", ids))):
        was_in_time = _attend_alone(db, schedule, now)
        handled += 1
        if not was_in_time or clock.monotonic() - begin > LONGEST_SECONDS:
            break
    if handled:
        notify(db, ANYBODY)
    return handled


def with_waiting(db) -> list[int]:
    """The schedules that have runs which wait for each other."""
    return list(Schedule.objects.using(db.alias).filter(has_waiting=True).values_list("pk", flat=True))


def admit_of(db, schedule_ids: Sequence[int], now: datetime) -> int:
    """Let runs of these schedules go whose predecessors have ended; how many have gone. Needs a transaction."""
    gone = 0
    for schedule in readable(db, lock_free(db, "jobs_schedule", schedule_ids)):
        gone += admit(db, schedule, now)
        schedule.save(using=db.alias, update_fields=["has_waiting"])
    return gone


def _attend_alone(db, schedule: Schedule, now: datetime) -> bool:
    """Handle one; False if it had to wait for somebody's lock, in vain: then others must not wait as well."""
    before = schedule.problem
    try:
        with transaction.atomic(using=db.alias):
            _attend(db, schedule, now)
            schedule.save(using=db.alias, update_fields=KEPT)
        is_in_time = True
    except Exception as error:
        is_in_time = not is_lock_timeout(error)
        if is_in_time and is_of_the_database(error):
            raise
        schedule.refresh_from_db(using=db.alias)
        if is_in_time:
            _pass_over(schedule, error, now)
        else:
            schedule.look_at = now + LOCKED_LOOK
        schedule.save(using=db.alias, update_fields=KEPT)
    if schedule.problem and schedule.problem != before:
        logger.error("schedule %s: %s", schedule.pk, schedule.problem)
    return is_in_time


def _pass_over(schedule: Schedule, error: Exception, now: datetime) -> None:
    """Say what keeps its slots from being run, count them, and go on with the next one."""
    try:
        recurrence = schedule.recurrence
        if schedule.next_slot_at is not None:
            schedule.missed_count += recurrence.count(just_before(schedule.next_slot_at), now)
        _advance(schedule, recurrence, now)
    except Exception:  # its rule itself cannot be computed
        schedule.next_slot_at = None
    schedule.problem = f"A slot could not be run: {told(error)}"[:PROBLEM_LENGTH]
    schedule.set_look(now)


def _attend(db, schedule: Schedule, now: datetime) -> None:
    if schedule.rule_fingerprint != schedule.planned_rule:  # edited since it was planned
        schedule.plan(now)
        return
    if schedule.has_waiting:
        admit(db, schedule, now)
    if schedule.next_slot_at is not None and schedule.next_slot_at <= now:
        _fire_slots(db, schedule, now)
    schedule.set_look(now)


def _fire_slots(db, schedule: Schedule, now: datetime) -> None:
    recurrence = schedule.recurrence
    due = due_slots(recurrence, schedule.next_slot_at, now, **_policy(schedule))
    _advance(schedule, recurrence, now)
    job = Job.objects.using(db.alias).filter(pk=schedule.job_id).first()
    if job is None:
        schedule.problem = "Its job does not exist any more."
        return
    schedule.problem = ""
    if job.is_enabled:
        _Slots(db, schedule, job, now).fire(due)


def _policy(schedule: Schedule) -> dict:
    lateness = schedule.lateness_seconds
    return {
        "misfire": Misfire(schedule.misfire),
        "limit": schedule.misfire_limit,
        "lateness": None if lateness is None else timedelta(seconds=lateness),
    }


def _advance(schedule: Schedule, recurrence: Recurrence, now: datetime) -> None:
    last = recurrence.last_until(now)
    if last is not None and (schedule.last_slot_at is None or last > schedule.last_slot_at):
        schedule.last_slot_at = last
    schedule.next_slot_at = recurrence.next_after(now)


class _Slots:
    """The slots of one schedule that have come, in one transaction."""

    def __init__(self, db, schedule: Schedule, job: Job, now: datetime):
        self._db, self._schedule, self._job, self._now = db, schedule, job, now
        self._overlap = Overlap(schedule.overlap)
        # Unfinished runs, kept up to date in memory; where they do not matter, none.
        self._open = Open() if self._overlap == Overlap.ALLOW else read_open(db, schedule)

    def fire(self, due: DueSlots) -> None:
        taken = taken_slots(self._db, self._schedule.pk, due.slots)
        is_catching_up = due.is_misfire and len(due.slots) > 1
        for slot in due.slots:
            if slot not in taken:  # nobody has filled it in
                self._fire_slot(slot_run(self._schedule, self._job, slot, self._now), is_catching_up)
        if due.dropped:
            self._record_dropped(due)

    def _fire_slot(self, run: Run, is_catching_up: bool) -> None:
        if self._open and self._overlap == Overlap.REPLACE and not is_catching_up:
            ask_to_end(self._db, self._schedule, [*self._open.working, *self._open.waiting])
            self._open = read_open(self._db, self._schedule)
        waits = is_catching_up or self._overlap != Overlap.SKIP
        if self._open and (not waits or len(self._open.waiting) >= MOST_AT_ONCE):
            self._skip(run)
            return
        if self._open:
            run.state, run.reason_code = State.BLOCKED.value, Reason.PREVIOUS_UNFINISHED.value
            run.unique_hash = None  # those before it may hold it
        self._store(run)

    def _store(self, run: Run) -> None:
        try:
            with transaction.atomic(using=self._db.alias):
                stored = insert_new(run)
        except IntegrityError:
            if not taken_slots(self._db, self._schedule.pk, [run.slot]):
                raise
            return  # somebody has filled it in
        if stored is not run:  # an unfinished run holds its job's unique key; it may be that of this very slot
            if (stored.schedule_id, stored.slot) != (run.schedule_id, run.slot):
                self._skip(run, stored)
        elif run.state == State.BLOCKED:
            self._schedule.has_waiting = True
            self._open.waiting.append(run.pk)
        elif self._overlap != Overlap.ALLOW:
            self._open.working.append(run.pk)

    def _skip(self, run: Run, holder: Run | None = None) -> None:
        beside = self._open if holder is None else Open([holder.pk], newest=self._open.newest)
        record_skipped(self._db, beside, run, self._now)
        self._open.newest = beside.newest
        self._schedule.missed_count += 1

    def _record_dropped(self, due: DueSlots) -> None:
        """One row tells how many slots were dropped, and from when to when. It holds no slot: some of these may have
        been filled in, and others may be later."""
        first, last = due.dropped_from, due.dropped_until
        filled_in = slots_with_runs(self._db, self._schedule.pk, first, last)
        if (count := due.dropped - len(filled_in - set(due.slots))) <= 0:
            return
        run = slot_run(self._schedule, self._job, last, self._now)
        run.slot = None
        end_unstarted(run, Reason.MISSED, slots_told(count, first, last), self._now)
        run.save(using=self._db.alias, force_insert=True)
        self._schedule.missed_count += count
