"""Hearing what other processes tell: LISTEN on a connection and in a thread of its own. PostgreSQL only.

A shortcut like every wake-up. What is missed while nobody listens is found by the dispatcher's poll.
"""

import socket
import time
from collections.abc import Collection
from contextlib import closing, contextmanager, suppress
from selectors import EVENT_READ, DefaultSelector
from threading import Thread

from jobs.core.log import Log
from jobs.core.wake import Flag
from jobs.lifecycle.database import connection
from jobs.lifecycle.notify import ANYBODY, CHANNEL

logger = Log("jobs")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
END_SECONDS = 0.5
# Of a storm of notifications one in so many seconds is passed on. The first one always is, at once.
STORM_STEP = 0.005

# A cut that nobody tells of is noticed after about a minute; unless the site's OPTIONS say something else.
TCP_OPTIONS = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


class Listener:
    """Sets the Flag at every notification that concerns these queues (None: all), until it is stopped.

    While it has no connection it tries again after growing pauses; when it has one again it sets the Flag, because
    something may have been missed.
    """

    def __init__(self, woken: Flag, queues: Collection[str] | None):
        self.is_listening = False
        self._woken = woken
        self._queues = queues
        self._is_stopping = False
        self._bell, self._ear = socket.socketpair()  # ends the sleep from another thread
        self._pause = FIRST_PAUSE
        self._connected_at: float | None = None
        self._has_told_loss = False
        self._thread = Thread(target=self._run, name="jobs-listener", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread and its connection. One that waits for a server that does not answer ends by itself later."""
        self._is_stopping = True
        with suppress(OSError):
            self._bell.shutdown(socket.SHUT_RDWR)  # its other end can be read then, also while a fork has a copy
        self._bell.close()
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        with closing(self._ear):
            while not self._is_stopping:
                try:
                    with own_connection() as raw:
                        self._listen(raw)
                except Exception as error:
                    self._lost(error)
                self._rest()

    def _rest(self) -> None:
        try:
            self._sleep(self._pause)
        except OSError:  # not even a selector: no more open files
            time.sleep(self._pause)

    def _listen(self, raw) -> None:
        self._connected()
        try:
            while self._sleep(None, raw):
                if any(self._concerns(queue) for queue in _received(raw)):
                    self._woken.set()
                    self._sleep(STORM_STEP)
        finally:
            self.is_listening = False

    def _sleep(self, seconds: float | None, raw=None) -> bool:
        """Until the time is over or there is something to read of this connection. False: the listener stops."""
        with DefaultSelector() as selector:
            selector.register(self._ear, EVENT_READ)
            if raw is not None:
                selector.register(raw.fileno(), EVENT_READ)
            selector.select(seconds)
        return not self._is_stopping

    def _concerns(self, queue: str) -> bool:
        return self._queues is None or queue in self._queues or queue == ANYBODY

    def _connected(self) -> None:
        if self._has_told_loss:
            logger.info("notifications of the database come again")
        self._has_told_loss = False
        self._connected_at = time.monotonic()
        self.is_listening = True
        self._woken.set()

    def _lost(self, error: Exception) -> None:
        if not self._has_told_loss:
            text = " ".join(str(error).split())
            logger.warning("no notifications of the database: polling until they come again (%s)", text)
        self._has_told_loss = True
        # What comes and goes all the time is not tried again at once each time.
        has_lasted = self._connected_at is not None and time.monotonic() - self._connected_at > LONGEST_PAUSE
        self._connected_at = None
        self._pause = FIRST_PAUSE if has_lasted else min(2 * self._pause, LONGEST_PAUSE)


@contextmanager
def own_connection():
    """A connection of the driver that listens, which nobody else uses, and which is not from a pool."""
    db = connection().copy()
    options = db.settings_dict["OPTIONS"]
    options.pop("pool", None)
    for name, value in TCP_OPTIONS.items():
        options.setdefault(name, value)
    try:
        _open(db)
        yield db.connection
    finally:
        with suppress(Exception):
            db.close()


def _open(db) -> None:
    db.connect()
    db.set_autocommit(True)
    with db.cursor() as cursor:
        if db.pg_version >= 140000:
            cursor.execute("SET idle_session_timeout = 0")  # to sleep is its work
        cursor.execute(f"LISTEN {CHANNEL}")


def _received(raw) -> list[str]:
    """The payloads that have arrived. Raises what the driver raises when the connection is lost."""
    if not hasattr(raw, "pgconn"):  # psycopg2
        raw.poll()
        received, raw.notifies[:] = [each.payload for each in raw.notifies], []
        return received
    raw.pgconn.consume_input()
    return [each.extra.decode() for each in iter(raw.pgconn.notifies, None)]
