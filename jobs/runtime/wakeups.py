"""How a dispatcher sleeps until there may be work."""

import time
from collections.abc import Callable

from jobs.core.wake import Flag
from jobs.lifecycle.database import connection

BUSY_STEP = 0.02
IDLE_STEP = 0.05
IDLE_AFTER = 2.0


class Wakeup:
    """Sleeps until the Flag is set, the time is over, or another process has written to the same SQLite file.

    SQLite tells the last by `PRAGMA data_version` of the dispatcher's own connection, which its own commits do not
    change; it is asked every 20 ms, and after two idle seconds every 50 ms. Elsewhere the time being over is the poll.
    """

    def __init__(self, event: Flag):
        self._event = event
        self._version: int | None = None
        self._busy_until = 0.0

    def was_busy(self) -> None:
        """There was work just now: more is likely, so look often."""
        self._busy_until = time.monotonic() + IDLE_AFTER

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        ask_version = _version_query(connection())
        while (now := time.monotonic()) < end:
            # Sleep first, look afterwards: a site that writes all the time must not have the runs read all the time.
            if self._event.wait(min(end - now, self._step(now) if ask_version else seconds)):
                return
            if ask_version and self._has_changed(ask_version()):
                return

    def _step(self, now: float) -> float:
        return BUSY_STEP if now < self._busy_until else IDLE_STEP

    def _has_changed(self, version: int) -> bool:
        before, self._version = self._version, version
        return before != version


def _version_query(db) -> Callable[[], int] | None:
    """Ask the driver itself: this happens twenty times a second in an idle process."""
    if db.vendor != "sqlite" or db.connection is None:
        return None
    execute = db.connection.execute
    return lambda: execute("PRAGMA data_version").fetchone()[0]
