"""This worker's identity and signs of life, and what it sees of the others."""

from datetime import timedelta

from jobs.conf import Settings
from jobs.core import clock
from jobs.core.liveness import Observer
from jobs.lifecycle import workers


class DeclaredDead(Exception):
    """Another worker has taken this one for dead: nothing that it claimed is its own any more."""


class Heartbeat:
    """`beat` belongs into the dispatcher's transaction; what follows from it holds from `committed` on."""

    def __init__(self, settings: Settings, *, stays: bool, **description):
        self.worker_id: int | None = None
        self._settings = settings
        self._stays = stays
        self._description = description
        self._last = float("-inf")
        self._pending: tuple[float, Observer] | None = None

    def enter(self) -> None:
        """Take a new identity: a new worker row, and eyes that have seen nothing yet."""
        start = clock.monotonic()
        self.worker_id = workers.enter(now=clock.now(), **self._description).pk
        self._last = self._due_at = start  # the first look is taken at once
        self._observer = self._new_observer()
        self._is_first_look = True

    def _new_observer(self) -> Observer:
        return Observer(heartbeat=self._settings.HEARTBEAT_SECONDS, lost_after=self._settings.LOST_AFTER_SECONDS)

    @property
    def due_in(self) -> float:
        return self._due_at - clock.monotonic()

    @property
    def is_fresh(self) -> bool:
        """Whether nobody can have taken this worker for dead: only then may a function start. Asked by its threads."""
        return clock.monotonic() - self._last < self._settings.LOST_AFTER_SECONDS / 2

    def beat(self, connection) -> frozenset[int]:
        """Write a sign of life, look at the others, and return the ids of the dead. Raises DeclaredDead."""
        at = clock.monotonic()
        if not workers.beat(connection, self.worker_id, clock.now()):
            raise DeclaredDead(f"worker {self.worker_id} was declared dead")
        observer = self._observer.look(at, workers.others(connection, self.worker_id))
        self._pending = at, observer
        return observer.dead | self._dead_at_first_sight(connection)

    def _dead_at_first_sight(self, connection) -> frozenset[int]:
        if self._stays or not self._is_first_look:
            return frozenset()
        since = timedelta(seconds=workers.LONG_SILENT * self._settings.LOST_AFTER_SECONDS)
        return workers.long_silent(connection, self.worker_id, since=since, now=clock.now())

    def committed(self) -> None:
        """The transaction of the last `beat` is in the database: now it counts."""
        if self._pending is not None:
            self._last, self._observer = self._pending
            self._due_at = self._last + self._settings.HEARTBEAT_SECONDS
            self._is_first_look = False
            self._pending = None

    def rolled_back(self) -> None:
        self._pending = None
