"""Signals as something that one waits for."""

import select
import signal
import socket
import time
from collections.abc import Iterable
from contextlib import suppress

STOPS = (signal.SIGTERM, signal.SIGINT)
# One request may be sent twice in a moment: `timeout` signals the process, and then its whole group.
FOLD_SECONDS = 0.05


class SignalInbox:
    """Within the block these signals do nothing by themselves: `wait` returns them. For the main thread only.

    A main thread that sleeps on a lock may sleep through a signal: the system gives it to any thread, and when two come
    at once, often to another one. The interpreter then only takes note of it. Here that note ends the sleep.
    """

    def __init__(self, numbers: Iterable[int]):
        self._numbers = frozenset(numbers)

    def __enter__(self) -> "SignalInbox":
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        # The interpreter writes the number of each signal there, at whatever moment it comes: none is missed between
        # a look and a wait. It does so only for signals that have a handler.
        self._fd_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _do_nothing) for number in self._numbers}
        return self

    def __exit__(self, *error) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        self._reader.close()
        self._writer.close()

    def wake(self) -> None:
        """End the sleep. May be called by any thread, also after the block."""
        with suppress(OSError):
            self._writer.send(b"\0")

    def wait(self, seconds: float = float("inf")) -> list[int]:
        """Sleep until there are signals, somebody calls `wake`, or so many seconds are over; the signals, in their
        order. The same one twice within FOLD_SECONDS is once."""
        came = self._came_within(None if seconds == float("inf") else seconds)
        if not self._numbers.isdisjoint(came):
            time.sleep(FOLD_SECONDS)
            came += self._came_within(0)
        return [number for number in dict.fromkeys(came) if number in self._numbers]

    def _came_within(self, seconds: float | None) -> bytes:
        return self._reader.recv(4096) if select.select([self._reader], [], [], seconds)[0] else b""


def _do_nothing(signum, frame):
    pass
