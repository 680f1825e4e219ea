"""How a dispatcher sleeps until there may be work."""

import time
from collections.abc import Callable, Collection
from contextlib import contextmanager

from jobs.core.log import Log
from jobs.core.wake import Flag
from jobs.lifecycle.database import connection
from jobs.lifecycle.notify import can_notify
from jobs.runtime.listener import Listener

logger = Log("jobs")

BUSY_STEP = 0.02
IDLE_STEP = 0.05
IDLE_AFTER = 2.0
# Where nobody tells of work, the part of the time since the last work after which the next look is taken.
PATIENCE = 0.1


class Wakeup:
    """Sleeps until the Flag is set, the time is over, or another process may have made work.

    SQLite tells by `PRAGMA data_version` of the dispatcher's own connection that another one has written to the file;
    its own commits do not change it. It is asked every 20 ms, and after two idle seconds every 50 ms. On PostgreSQL a
    Listener sets the Flag. Where neither tells, the sleep is short just after work and grows with the quiet.
    """

    def __init__(self, event: Flag, queues: Collection[str] | None = None):
        self._event = event
        self._queues = queues
        self._listener: Listener | None = None
        self._version: int | None = None
        self._busy_at = time.monotonic()

    @contextmanager
    def listening(self):
        """Within the block a Listener works for these queues (None: all), if the database has something to hear."""
        if can_notify(connection()):
            try:
                self._listener = Listener(self._event, self._queues)
                self._listener.start()
            except (OSError, RuntimeError) as error:  # no more open files or threads: the poll is enough
                logger.warning("no notifications of the database: polling instead (%s)", error)
                self._listener = None
        try:
            yield
        finally:
            if self._listener is not None:
                self._listener.stop()

    def was_busy(self) -> None:
        """There was work just now: more is likely, so look often."""
        self._busy_at = time.monotonic()

    def wait(self, seconds: float) -> None:
        if version_of := _version_query(connection()):
            self._wait_for_version(seconds, version_of)
        elif self._listener is not None and self._listener.is_listening:
            self._event.wait(seconds)
        else:
            quiet = time.monotonic() - self._busy_at
            self._event.wait(min(seconds, max(BUSY_STEP, PATIENCE * quiet)))

    def _wait_for_version(self, seconds: float, version_of: Callable[[], int]) -> None:
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            # Sleep first, look afterwards: a site that writes all the time must not have the runs read all the time.
            if self._event.wait(min(end - now, self._step(now))) or self._has_changed(version_of()):
                return

    def _step(self, now: float) -> float:
        return BUSY_STEP if now < self._busy_at + IDLE_AFTER else IDLE_STEP

    def _has_changed(self, version: int) -> bool:
        before, self._version = self._version, version
        return before != version


def _version_query(db) -> Callable[[], int] | None:
    """Ask the driver itself: this happens twenty times a second in an idle process."""
    if db.vendor != "sqlite" or db.connection is None:
        return None
    execute = db.connection.execute
    return lambda: execute("PRAGMA data_version").fetchone()[0]
