"""Noticing schedules whose rule has changed, whichever way, and planning them anew."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import DataError, transaction

from jobs.core import clock
from jobs.core.log import Log
from jobs.core.recurrence import RULE
from jobs.lifecycle.database import db_time, lock_free, moment_of
from jobs.lifecycle.faults import is_of_the_database, told
from jobs.models import Schedule
from jobs.models.schedule import FAR_AHEAD, PLAN, PROBLEM_LENGTH, fingerprint

logger = Log("jobs")

_MOMENTS = ("anchor_at", "starts_at", "ends_at", "look_at")
_COLUMNS = (
    "id",
    "planned_rule",
    "problem",
    "next_slot_at IS NULL",
    "last_slot_at > %s",
    "look_at",
    "is_enabled",
    *RULE,
)


def _rules(connection) -> str:
    """Moments are read as texts where they may be what Python cannot read (on SQLite any text, on PostgreSQL infinity):
    one of these must not keep the others from being read."""
    columns = _COLUMNS
    if connection.vendor != "mysql":
        columns = [f"CAST({name} AS TEXT)" if name in _MOMENTS else name for name in columns]
    return f"SELECT {', '.join(columns)} FROM jobs_schedule"


def edited(connection, known: dict[int, tuple] | None = None) -> dict[int, str]:
    """The schedules that need another plan, with the fingerprint of the rule that they have now: those whose rule is
    not the one that was planned, those that have a problem instead of a slot, and those that a clock has left behind
    that was far ahead.

    `known` keeps, from one call to the next, the rows that are as they were planned: as long as they stay the same
    there is nothing to compute.
    """
    known = {} if known is None else known
    with connection.cursor() as cursor:
        cursor.execute(_rules(connection), (db_time(connection, clock.now() + FAR_AHEAD),))
        rows = {row[0]: row for row in cursor.fetchall()}
    found = {}
    for each, row in rows.items():
        if known.get(each) != row and (rule := _needed(row)):
            found[each] = rule
    known.clear()
    known.update((each, row) for each, row in rows.items() if each not in found)
    return found


def _needed(row: tuple) -> str:
    """The fingerprint of the rule, if it must be planned; else nothing."""
    _, planned, problem, has_no_slot, is_far_ahead, look_at, is_enabled, *rule = row
    is_broken = (problem and has_no_slot and is_enabled) or isinstance(_moment(look_at), str) or is_far_ahead
    now = fingerprint(
        is_enabled, *(_moment(value) if name in _MOMENTS else value for name, value in zip(RULE, rule, strict=True))
    )
    return now if is_broken or now != planned else ""


def _moment(value: datetime | str | None) -> datetime | str | None:
    try:
        return None if value is None else moment_of(value)
    except (ValueError, TypeError):  # no moment, which SQLite does not refuse
        return value


def replan(db, rules: Mapping[int, str], now: datetime) -> None:
    """Plan these schedules anew from `now` on, but for those that somebody has locked. Needs a transaction.

    One that cannot be planned tells why, and stops none of the others.
    """
    for schedule in readable(db, lock_free(db, "jobs_schedule", rules), rules):
        try:
            _replan(db, schedule, now)
        except Exception as error:
            if is_of_the_database(error):
                raise
            _flag(db, schedule.pk, f"It could not be planned: {told(error)}", rules[schedule.pk])


def _replan(db, schedule: Schedule, now: datetime) -> None:
    before = {name: getattr(schedule, name) for name in PLAN}
    schedule.plan(now)
    if any(getattr(schedule, name) != value for name, value in before.items()):
        with transaction.atomic(using=db.alias):
            schedule.save(using=db.alias, update_fields=PLAN)
    if schedule.problem and schedule.problem != before["problem"]:
        logger.error("schedule %s does not fire: %s", schedule.pk, schedule.problem)


def readable(db, schedule_ids: Sequence[int], rules: Mapping[int, str] | None = None) -> list[Schedule]:
    """These schedules, in this order, but for one whose row holds what cannot be read, which tells so. `rules` are the
    fingerprints of their rules, where these are known."""
    schedules = Schedule.objects.using(db.alias)
    try:
        found = schedules.in_bulk(schedule_ids)
    except (ValueError, TypeError, AttributeError, DataError) as error:
        if len(schedule_ids) > 1:
            return [found for each in schedule_ids for found in readable(db, [each], rules)]
        (broken,) = schedule_ids
        _flag(db, broken, f"Its row cannot be read: {told(error)}", (rules or {}).get(broken))
        return []
    return [found[each] for each in schedule_ids if each in found]


def _flag(db, schedule_id: int, problem: str, rule: str | None) -> None:
    """Show on its page what is wrong with it, and tell it once."""
    problem = problem[:PROBLEM_LENGTH]
    planned = {} if rule is None else {"planned_rule": rule}
    other = Schedule.objects.using(db.alias).filter(pk=schedule_id).exclude(problem=problem, look_at=None)
    if other.update(problem=problem, look_at=None, next_slot_at=None, **planned):
        logger.error("schedule %s does not fire: %s", schedule_id, problem)
