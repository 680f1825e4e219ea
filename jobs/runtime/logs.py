"""The log of one execution: bounded, handed over in pieces."""

from collections import deque
from threading import Lock


class LogBuffer:
    """Lines of one execution. Kept are the first half of `max_bytes`, handed over as they come, and of the rest the
    last half, handed over at the end with a line that tells how much lies between.

    Lock rule: public methods take the lock; `_push` expects it held.
    """

    def __init__(self, max_bytes: int):
        self._lock = Lock()
        self._head_left = max_bytes // 2
        self._tail_limit = max_bytes - max_bytes // 2
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._tail_bytes = 0
        self._dropped = 0

    @property
    def has_news(self) -> bool:
        return bool(self._head)

    def write(self, line: str) -> None:
        with self._lock:
            size = len(line.encode("utf-8", "backslashreplace")) + 1
            if size <= self._head_left and not self._tail:
                self._head_left -= size
                self._head.append(line)
            else:
                self._push(line, size)

    def _push(self, line: str, size: int) -> None:
        if size > self._tail_limit:  # one huge line: its end is kept
            kept = line.encode("utf-8", "backslashreplace")[1 - self._tail_limit :].decode("utf-8", "ignore")
            self._dropped += size - (len(kept.encode("utf-8")) + 1)
            line, size = kept, len(kept.encode("utf-8")) + 1
        self._tail.append(line)
        self._tail_bytes += size
        while self._tail_bytes > self._tail_limit:
            gone = len(self._tail.popleft().encode("utf-8", "backslashreplace")) + 1
            self._tail_bytes -= gone
            self._dropped += gone

    def take(self, *, is_last: bool = False) -> str:
        """The text since the last call; with `is_last` the kept end as well. Lines end with a newline."""
        with self._lock:
            lines, self._head = self._head, []
            if is_last:
                if self._dropped:
                    lines.append(f"… {self._dropped} bytes dropped …")
                lines += self._tail
                self._tail.clear()
        return "".join(f"{line}\n" for line in lines)
