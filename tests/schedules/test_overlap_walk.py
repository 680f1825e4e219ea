"""Whatever happens to a schedule's runs, in whichever order: never two at once, and no slot that nobody knows of."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from jobs.lifecycle import cancel
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.promote import promote
from jobs.lifecycle.rescue import rescue
from jobs.models import Run, Schedule
from jobs.testing import FakeClock
from tests.lifecycle.support import any_speed, new_worker, rolled_back, success, take, write
from tests.runtime.support import orphan
from tests.schedules.support import a_job, counted, every, look

pytestmark = pytest.mark.django_db

INTERVAL = 10
NOBODY = 1_000_000  # a worker without a row: dead

STEPS = st.one_of(
    st.tuples(st.just("passes"), st.sampled_from([1, 3, 10, 25, 59, 60, 61, 70, 700])),
    st.tuples(st.just("starts"), st.integers(1, 4)),
    st.tuples(st.just("ends"), st.integers(0, 3)),
    st.tuples(st.just("is_lost"), st.integers(0, 3)),
    st.tuples(st.just("is_cancelled"), st.integers(0, 3)),
    st.tuples(st.just("overlaps"), st.sampled_from(["skip", "queue", "allow", "replace"])),
    st.tuples(st.just("misfires"), st.sampled_from(["once", "skip", "all"])),
    st.tuples(st.just("is_disabled"), st.none()),
)


class World:
    """A schedule, its runs, and what is known to be true of them."""

    def __init__(self, clock, overlap: str, unique_key: str):
        self.clock = clock
        self.begin = clock.now()
        self.schedule = every(INTERVAL, overlap=overlap, job=a_job(unique_key=unique_key, max_losses=2))
        self.worker = new_worker()
        self.overlap = overlap
        self.claims = {}
        self.disabled = 0  # slots that came meanwhile
        self.free = set()

    def passes(self, seconds: int) -> None:
        self.clock.move(seconds)

    def starts(self, limit: int) -> None:
        for claimed in take(limit, worker=self.worker.pk):
            self.claims[claimed.id] = claimed

    def ends(self, which: int) -> None:
        if claimed := self._one(which):
            assert write(success(claimed))

    def is_lost(self, which: int) -> None:
        if claimed := self._one(which):
            orphan(Run.objects.get(pk=claimed.id), worker_id=NOBODY)
            with transaction.atomic(using=alias()):
                rescue(connection(), [], self.clock.now())

    def is_cancelled(self, which: int) -> None:
        waiting = list(Run.objects.filter(state__in=["queued", "blocked", "scheduled"]).order_by("pk"))
        if waiting:
            cancel(waiting[which % len(waiting)])

    def overlaps(self, how: str) -> None:
        Schedule.objects.update(overlap=how)
        self.overlap = how

    def misfires(self, how: str) -> None:
        Schedule.objects.update(misfire=how, misfire_limit=3)

    def is_disabled(self, _) -> None:
        """For a while."""
        before = self._slots_that_came()
        Schedule.objects.update(is_enabled=False)
        look()
        self.clock.move(35)
        look()
        Schedule.objects.update(is_enabled=True)
        self.disabled += self._slots_that_came() - before

    def _one(self, which: int):
        running = list(Run.objects.filter(state="running").order_by("pk").values_list("pk", flat=True))
        return self.claims[running[which % len(running)]] if running else None

    def _slots_that_came(self) -> int:
        return (self.clock.now() - self.begin) // timedelta(seconds=INTERVAL)

    def look(self) -> None:
        with transaction.atomic(using=alias()):
            promote(connection(), self.clock.now())
        look()
        self.check()

    def check(self) -> None:
        unfinished = Run.objects.filter(state__in=["queued", "scheduled", "running"])
        free = set(unfinished.values_list("pk", flat=True))
        if self.overlap != "allow" and free - self.free:  # let go in this moment
            assert len(free) == 1
        self.free = free
        schedule = Schedule.objects.get()
        assert schedule.problem == ""
        made = Run.objects.filter(slot__isnull=False).exclude(state="skipped").count()
        assert made + counted(schedule) + self.disabled == self._slots_that_came()
        assert schedule.missed_count == counted(schedule)
        if Run.objects.filter(state="blocked").exists():  # they are let go a moment after what they wait for has ended
            assert schedule.has_waiting
            assert schedule.look_at <= self.clock.now() + timedelta(seconds=1)


@any_speed
@given(
    overlap=st.sampled_from(["skip", "queue", "allow", "replace"]),
    unique_key=st.sampled_from(["", "", "one"]),
    steps=st.lists(STEPS, max_size=25),
)
def test_never_two_at_once_and_every_slot_is_accounted_for(overlap, unique_key, steps):
    with rolled_back(), FakeClock() as clock:
        world = World(clock, overlap, unique_key)
        for name, value in steps:
            getattr(world, name)(value)
            world.look()
        for _ in range(3 + Run.objects.filter(state__in=["queued", "scheduled", "running", "blocked"]).count()):
            Schedule.objects.update(is_enabled=False)  # everything that waits comes to its end
            clock.move(100)
            with transaction.atomic(using=alias()):
                promote(connection(), clock.now())
            look()
            world.starts(100)
            while world._one(0):
                world.ends(0)
        assert not Run.objects.filter(state__in=["queued", "scheduled", "running", "blocked"]).exists()
