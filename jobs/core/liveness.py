"""Who is dead: judged by watching counters on one's own monotonic clock, never by comparing two hosts' clocks."""

from collections.abc import Mapping
from dataclasses import dataclass

LOOKS_NEEDED = 3


@dataclass(frozen=True, slots=True)
class _Sight:
    beats: int
    silence: float = 0.0
    looks: int = 0


class Observer:
    """What one worker has seen of the others. Immutable: a look returns the next observer, to be kept only if the
    transaction in which the looker wrote its own sign of life has been committed.

    A counter that stands still for `lost_after` seconds of watching and at least three looks belongs to the dead. One
    look adds at most two heartbeats to the silence, so an observer that was itself frozen, locked out or cut off
    does not take its own absence for the others' death.
    """

    __slots__ = ("_at", "_heartbeat", "_lost_after", "_sights")

    def __init__(self, *, heartbeat: float, lost_after: float):
        self._heartbeat = heartbeat
        self._lost_after = lost_after
        self._at: float | None = None
        self._sights: dict[int, _Sight] = {}

    def look(self, now: float, beats: Mapping[int, int]) -> "Observer":
        """The observer after seeing, at monotonic time `now`, the counter of every other present worker by its id."""
        after = Observer(heartbeat=self._heartbeat, lost_after=self._lost_after)
        after._at = now
        step = 0.0 if self._at is None else min(max(now - self._at, 0.0), 2 * self._heartbeat)
        after._sights = {worker: self._next_sight(worker, count, step) for worker, count in beats.items()}
        return after

    def _next_sight(self, worker: int, beats: int, step: float) -> _Sight:
        before = self._sights.get(worker)
        if before is None or before.beats != beats:
            return _Sight(beats)
        return _Sight(beats, before.silence + step, before.looks + 1)

    @property
    def dead(self) -> frozenset[int]:
        """The workers that have been silent for too long."""
        return frozenset(
            worker
            for worker, sight in self._sights.items()
            if sight.looks >= LOOKS_NEEDED and sight.silence >= self._lost_after
        )
