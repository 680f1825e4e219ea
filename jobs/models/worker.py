"""Who works, which lanes there are, and how much may run at once."""

from django.db import models

from jobs.models.fields import CharField, TextField, UTCDateTimeField


class Worker(models.Model):
    """One process that executes runs. Every start makes a new row: the primary key is the identity."""

    class State(models.TextChoices):
        ALIVE = "alive", "alive"
        STOPPING = "stopping", "stopping"
        STOPPED = "stopped", "stopped"
        # Declared dead by another worker's observation. If it comes back it sees this and takes a new identity.
        DEAD = "dead", "dead"

    PRESENT = (State.ALIVE, State.STOPPING)

    name = CharField(max_length=255)
    host = CharField(max_length=255)
    pid = models.BigIntegerField()
    kind = CharField(max_length=20)
    state = CharField(max_length=10, choices=State, default=State.ALIVE, db_default=State.ALIVE.value)
    executor = CharField(max_length=20)
    threads = models.PositiveSmallIntegerField()
    queues = TextField(null=True, blank=True)
    version = CharField(max_length=50, blank=True, default="", db_default="")
    # The sign of life: raised every HEARTBEAT_SECONDS. Others watch it change on their own clocks.
    beats = models.BigIntegerField(default=0, db_default=0)
    beat_at = UTCDateTimeField(null=True)
    started_at = UTCDateTimeField()
    stopped_at = UTCDateTimeField(null=True, blank=True)
    problem = CharField(max_length=500, blank=True, default="", db_default="")

    class Meta:
        indexes = [
            # Whom to observe: WHERE state IN ('alive', 'stopping').
            models.Index(fields=["state", "id"], name="jobs_worker_present"),
        ]

    def __str__(self):
        return self.name

    def serves(self, queue: str) -> bool:
        return self.queues is None or queue in self.queues.split(", ")


class Queue(models.Model):
    """A named lane of runs. A lane needs no row; the row holds what a person decided about it."""

    name = CharField(max_length=100, unique=True)
    is_paused = models.BooleanField("paused", default=False, db_default=False)
    paused_reason = CharField(max_length=200, blank=True, default="", db_default="")
    paused_by_name = CharField(max_length=150, blank=True, default="", db_default="")
    paused_at = UTCDateTimeField(null=True, blank=True)

    def __str__(self):
        return self.name


class Limit(models.Model):
    """How many runs with one limit key may work at once, and how many may start in a time."""

    key = CharField(max_length=255, unique=True)
    max_running = models.PositiveIntegerField(null=True, blank=True)
    rate_count = models.PositiveIntegerField(null=True, blank=True)
    rate_seconds = models.FloatField(null=True, blank=True)
    # The rate as a single moment: when the next start is due if starts come evenly (generic cell rate algorithm).
    rate_next_at = UTCDateTimeField(null=True, blank=True)

    def __str__(self):
        return self.key


class SiteState(models.Model):
    """A fact that all processes of a site must agree about, such as the ageing that its order keys were made with."""

    key = CharField(max_length=100, primary_key=True)
    value = TextField(null=True, blank=True)
    updated_at = UTCDateTimeField(null=True)

    def __str__(self):
        return f"{self.key} = {self.value}"
