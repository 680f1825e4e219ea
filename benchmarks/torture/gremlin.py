"""The one that does the harm: by chance, but always the same for one seed as far as it depends on this process."""

import random
import signal
import time
from collections import Counter

from benchmarks.servers import Server
from benchmarks.servers.system import born, send
from benchmarks.torture.fleet import Fleet, Place

STEP_SECONDS = 0.05
FREEZES = ((0.0, 1.0), (2.0, 5.0))  # seconds, short or long; LOST_AFTER_SECONDS is among the long ones

# What it does how often, in relation to each other, with and without a database server of our own.
HARM = {"kill worker": 10, "kill producer": 3, "freeze worker": 6, "stop worker": 4}
HARM_TO_SERVER = {"restart database": 1, "kill database": 1}
KILLS = ("kill worker", "kill producer", "kill database")


class Gremlin:
    """Work it by `step()`, again and again; `rest()` undoes what can be undone. `done` counts its deeds."""

    def __init__(self, fleet: Fleet, server: Server | None, choice: random.Random, *, kills_per_minute: float):
        self.done: Counter[str] = Counter()
        self._fleet = fleet
        self._server = server
        self._choice = choice
        self._harm = HARM | (HARM_TO_SERVER if server else {})
        kills = sum(self._harm.get(kind, 0) for kind in KILLS)
        self._pause = 60 / kills_per_minute * kills / sum(self._harm.values())
        self._next_at = time.monotonic()
        self._frozen: list[tuple[float, int, str | None]] = []  # thaw when, and whom

    @property
    def kills(self) -> int:
        return sum(self.done[kind] for kind in KILLS)

    def step(self) -> None:
        """Do what is due: thaw, and harm."""
        now = time.monotonic()
        self._thaw(now)
        if now >= self._next_at:
            self._next_at = max(self._next_at + self._choice.uniform(0.5, 1.5) * self._pause, now)
            self._harm_once()

    def rest(self) -> None:
        self._thaw(float("inf"))

    def _harm_once(self) -> None:
        (kind,) = self._choice.choices(list(self._harm), list(self._harm.values()))
        deed = getattr(self, f"_{kind.replace(' ', '_')}")
        if deed():
            self.done[kind] += 1

    def _victim(self, places: list[Place]) -> Place | None:
        alive = [place for place in places if not place.is_doomed]
        return self._choice.choice(alive) if alive else None

    def _kill(self, places: list[Place]) -> bool:
        if (place := self._victim(places)) is None:
            return False
        pids = place.pids()
        pid = self._choice.choice(pids)
        place.send(signal.SIGKILL, None if pid == pids[0] else pid)
        return True

    def _kill_worker(self) -> bool:
        return self._kill(self._fleet.workers)

    def _kill_producer(self) -> bool:
        return self._kill(self._fleet.producers)

    def _stop_worker(self) -> bool:
        if (place := self._victim(self._fleet.workers)) is None:
            return False
        place.send(signal.SIGTERM)
        return True

    def _freeze_worker(self) -> bool:
        if (place := self._victim(self._fleet.workers)) is None:
            return False
        pid = self._choice.choice(place.pids())
        self._frozen.append((time.monotonic() + self._choice.uniform(*self._choice.choice(FREEZES)), pid, born(pid)))
        send(pid, signal.SIGSTOP)
        return True

    def _thaw(self, now: float) -> None:
        for thaw in [thaw for thaw in self._frozen if thaw[0] <= now]:
            self._frozen.remove(thaw)
            _, pid, birth = thaw
            if birth == born(pid):  # else it has ended, and the number is somebody else's
                send(pid, signal.SIGCONT)

    def _restart_database(self) -> bool:
        self._server.stop()
        self._server.start()
        return True

    def _kill_database(self) -> bool:
        self._server.kill()
        self._server.start()
        return True
