"""The line between a supervisor and each of its workers: two sockets that are connected, one end in each process.

Whatever ends the supervisor, `kill -9` too, its ends are closed, and its workers notice: they stop in order. That works
on every Unix, and needs no thread that looks again and again.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread

# Which open file of a worker is its end. Nobody else has this variable: a worker takes it out of its environment.
VARIABLE = "JOBS_LIFELINE"

_END_THE_GRACE = b"!"
_LONGEST_WORDS = 65_536


class Lifeline:
    """A worker's end."""

    def __init__(self, end: socket.socket):
        self._end = end
        self._end.set_inheritable(False)

    def tell(self, words: str) -> None:
        """Tell the supervisor why this worker refuses to work."""
        with suppress(OSError):  # there is no supervisor any more
            self._end.sendall(words.encode()[:_LONGEST_WORDS])

    def follow(self, request_stop: Callable[..., None]) -> None:
        """From now on call `request_stop(0)` when the supervisor ends the time of grace, and `request_stop()` when it
        is gone itself."""
        Thread(target=self._follow, args=[request_stop], name="jobs-lifeline", daemon=True).start()

    def _follow(self, request_stop) -> None:
        with suppress(OSError):
            while self._end.recv(1):
                request_stop(0)
        request_stop()


def take(environ: dict[str, str]) -> Lifeline | None:
    """This process's line to its supervisor; None if it has none. What this process starts is no worker of it."""
    number = environ.pop(VARIABLE, None)
    return None if number is None else Lifeline(socket.socket(fileno=int(number)))


class WorkerProcess:
    """A worker as its supervisor sees it: the process, and the other end of the line."""

    def __init__(self, command: Sequence[str]):
        self._end, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            self._popen = subprocess.Popen(command, pass_fds=[number], env=os.environ | {VARIABLE: str(number)})
        self.pid = self._popen.pid

    def exit_code(self) -> int | None:
        """None while it lives; negative for the signal that has ended it."""
        return self._popen.poll()

    def stop(self) -> None:
        """Ask it to stop in order. Asked twice is asked once, also if its service manager or terminal asks as well."""
        self._popen.send_signal(signal.SIGTERM)

    def end_the_grace(self) -> None:
        with suppress(OSError):  # it has ended
            self._end.send(_END_THE_GRACE)

    def last_words(self) -> str:
        """What it has told, after its end."""
        self._end.setblocking(False)
        with self._end, suppress(OSError):
            return self._end.recv(_LONGEST_WORDS).decode(errors="replace")
        return ""
