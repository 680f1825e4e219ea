"""When a job runs by itself."""

import hashlib
import json
from datetime import UTC, datetime, timedelta

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, router, transaction

from jobs.core import clock
from jobs.core.misfire import MOST_AT_ONCE, Misfire, Overlap
from jobs.core.recurrence import LONGEST_SECONDS, RULE, SHORTEST_SECONDS, Recurrence, recurrence
from jobs.core.rule_error import RuleError
from jobs.models.fields import CharField, TextField, UTCDateTimeField
from jobs.models.job import Job

_DURATION = MaxValueValidator(LONGEST_SECONDS)
_LIMIT = MaxValueValidator(MOST_AT_ONCE)

# A last slot so far ahead of the clock was not left there by a clock that was set back.
FAR_AHEAD = timedelta(days=1)
# How often one whose runs wait for each other is looked at.
WAITING_LOOK = timedelta(seconds=1)

# What a dispatcher writes when it plans one, and what it writes beside that when it fires one.
PLAN = ("next_slot_at", "look_at", "planned_rule", "problem")
KEPT = (*PLAN, "last_slot_at", "has_waiting", "missed_count")


class Schedule(models.Model):
    """One rhythm of a job, with parameters of its own. A job may have several."""

    class Kind(models.TextChoices):
        CRON = "cron", "cron expression"
        INTERVAL = "interval", "every so often"
        ONCE = "once", "once"

    MISFIRE_CHOICES = [
        (Misfire.ONCE.value, "run once for all of them"),
        (Misfire.SKIP.value, "skip them"),
        (Misfire.ALL.value, "run each, up to a number"),
    ]

    OVERLAP_CHOICES = [
        (Overlap.SKIP.value, "skip the slot"),
        (Overlap.QUEUE.value, "run after it"),
        (Overlap.ALLOW.value, "run beside it"),
        (Overlap.REPLACE.value, "ask the old run to stop"),
    ]

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="schedules")
    name = CharField(max_length=200, blank=True, default="", db_default="")
    is_enabled = models.BooleanField("enabled", default=True, db_default=True)

    # Its rule. `anchor_at` is what intervals are counted from, and the moment of a single run.
    kind = CharField(max_length=10, choices=Kind)
    expression = CharField(max_length=200, blank=True, default="", db_default="")
    interval_seconds = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(SHORTEST_SECONDS), MaxValueValidator(LONGEST_SECONDS)]
    )
    anchor_at = UTCDateTimeField(null=True, blank=True)
    time_zone = CharField(max_length=64, default="UTC")
    starts_at = UTCDateTimeField(null=True, blank=True)
    ends_at = UTCDateTimeField(null=True, blank=True)

    # How its slots become runs. Without parameters of its own it takes the job's.
    arguments_json = TextField("parameters", null=True, blank=True)
    jitter_seconds = models.FloatField(default=0, db_default=0, validators=[_DURATION, MinValueValidator(0)])
    misfire = CharField(max_length=10, choices=MISFIRE_CHOICES, default=Misfire.ONCE.value)
    misfire_limit = models.PositiveIntegerField(default=10, db_default=10, validators=[_LIMIT, MinValueValidator(1)])
    lateness_seconds = models.FloatField(null=True, blank=True, validators=[_DURATION, MinValueValidator(1)])
    overlap = CharField(max_length=10, choices=OVERLAP_CHOICES, default=Overlap.SKIP.value)

    # What the dispatchers keep: which slots are done, which one is next, and when they must look at it again.
    declared_in_code = models.BooleanField(default=False, db_default=False, editable=False)
    problem = CharField(max_length=500, blank=True, default="", db_default="", editable=False)
    planned_rule = CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    last_slot_at = UTCDateTimeField(null=True, editable=False)
    next_slot_at = UTCDateTimeField(null=True, editable=False)
    look_at = UTCDateTimeField(null=True, editable=False)
    has_waiting = models.BooleanField(default=False, db_default=False, editable=False)
    missed_count = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    created_at = UTCDateTimeField(null=True, editable=False)
    updated_at = UTCDateTimeField(null=True, editable=False)

    class Meta:
        indexes = [
            # Which ones a dispatcher must look at: WHERE look_at <= now ORDER BY look_at.
            models.Index(fields=["look_at"], name="jobs_schedule_look"),
        ]

    def __str__(self):
        return self.name or f"schedule {self.pk}"

    def save(self, **kwargs):
        """Store it, but for what the dispatchers keep: that stays as they have left it, however old this instance is. A
        rule that has changed is planned from now on. Raises DoesNotExist if it was deleted meanwhile. A save of single
        columns is left to who names them."""
        if kwargs.get("update_fields") is not None:
            super().save(**kwargs)
            return
        using = kwargs.get("using") or router.db_for_write(Schedule, instance=self)
        with transaction.atomic(using=using):
            if not self._state.adding:
                self._take_over_what_is_kept(using)
            self._plan_if_needed(clock.now())
            super().save(**kwargs)

    def clean(self):
        try:
            self.recurrence  # noqa: B018
        except RuleError as error:
            raise ValidationError({error.field: str(error)}) from None

    @property
    def recurrence(self) -> Recurrence:
        """Its rule. RuleError, which names the column, for a row that does not describe one."""
        return recurrence(**{name: getattr(self, name) for name in RULE})

    @property
    def rule_fingerprint(self) -> str:
        """What `planned_rule` is compared with, to notice edits that came any way."""
        return fingerprint(self.is_enabled, *(getattr(self, name) for name in RULE))

    @property
    def words(self) -> str:
        """The rule as people say it; what is wrong with it where it is none."""
        try:
            return self.recurrence.words
        except RuleError as error:
            return str(error)

    def _take_over_what_is_kept(self, using: str) -> None:
        stored = Schedule.objects.using(using).select_for_update().values(*KEPT).get(pk=self.pk)
        for name, value in stored.items():
            setattr(self, name, value)

    def _plan_if_needed(self, now: datetime) -> None:
        if self.kind == self.Kind.INTERVAL and self.anchor_at is None:
            self.anchor_at = now.replace(microsecond=0)
        needs_plan = self.problem or self.rule_fingerprint != self.planned_rule
        if self._is_far_ahead(now):
            self.last_slot_at, needs_plan = None, True
        if needs_plan:
            self.plan(now)

    def _is_far_ahead(self, now: datetime) -> bool:
        return self.last_slot_at is not None and self.last_slot_at > now + FAR_AHEAD

    def plan(self, now: datetime) -> None:
        """Set its next slot, after `now` and after those that are done, and what is wrong with it if it has none. Does
        not save."""
        self.planned_rule = self.rule_fingerprint
        self.problem, self.next_slot_at = "", None
        try:
            if self.is_enabled:
                self.next_slot_at = self._next_slot(now)
        except RuleError as error:
            self.problem = str(error)[:PROBLEM_LENGTH]
        self.set_look(now)

    def _next_slot(self, now: datetime) -> datetime | None:
        if self._is_far_ahead(now):
            ahead = f"Its last slot ({self.last_slot_at:%Y-%m-%d %H:%M} UTC) lies far ahead of the clock"
            raise RuleError("last_slot_at", f"{ahead}: edit and save it to begin anew.")
        following = self.recurrence.next_after(max(now, self.last_slot_at or now))
        if following is None and self.last_slot_at is None:
            raise RuleError("ends_at", "Its time is over: there is no slot any more.")
        return following

    def set_look(self, now: datetime) -> None:
        """Say when a dispatcher must look at it again."""
        moments = [self.next_slot_at] if self.next_slot_at else []
        if self.has_waiting:
            moments.append(now + WAITING_LOOK)
        self.look_at = min(moments, default=None)


PROBLEM_LENGTH = Schedule._meta.get_field("problem").max_length


def fingerprint(is_enabled: bool, *rule) -> str:
    """A short text that differs when one of the values of `RULE`, whose moments are aware, or `is_enabled` does."""
    return hashlib.sha256(json.dumps([bool(is_enabled), *map(_plain, rule)], default=str).encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return float(value) if isinstance(value, int) else value
