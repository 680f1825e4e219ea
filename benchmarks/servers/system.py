"""Free ports and processes."""

import os
import random
import signal
import socket
from contextlib import suppress
from pathlib import Path

PORTS = range(20000, 32000)  # below the ports of outgoing connections: one of those could take it during a restart


def free_port() -> int:
    choice = random.SystemRandom()  # of its own: a seed of the caller must not give two servers one port
    while True:
        port = choice.choice(PORTS)
        with suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port


def send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _stat(pid: int | str) -> list[str]:
    """State, parent, … of a process, from behind its name; a process that has gone is a dead one without a parent."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return ["X", "0"]


def children(parent: int) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _stat(pid)[1] == str(parent)]


def is_alive(pid: int) -> bool:
    return _stat(pid)[0] not in "XZ"


def born(pid: int) -> str | None:
    """When a process was started: with its number, what it is known by. None if there is no such process any more."""
    return stat[19] if len(stat := _stat(pid)) > 19 else None


def marked(mark: str) -> list[int]:
    """All processes that have `mark` in the environment they were started with."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found
