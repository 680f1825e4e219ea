"""The log of one execution: bounded, handed over in pieces."""

from threading import Lock

from jobs.core.texts import visible

# What is written is taken in pieces of at most so many characters: a line of any length costs no memory beyond them.
PIECE = 8192


class LogBuffer:
    """What one execution has written. Kept are the first half of `max_bytes`, handed over as it comes, and of the rest
    the last half, handed over at the end, after a line that tells how many bytes lie between.

    Both halves end at the end of a line, unless that would leave more than a quarter of them empty: then they end
    between two characters. Sizes are those of the UTF-8 that is stored.

    Lock rule: public methods take the lock; underscored ones expect it held.
    """

    def __init__(self, max_bytes: int):
        self._lock = Lock()
        self._head_limit = self._room = max_bytes // 2
        self._tail_limit = max_bytes - max_bytes // 2
        self._head: list[bytes] = []
        self._head_ends_a_line = True
        self._tail = bytearray()
        self._rest = 0  # bytes behind the head, kept or not
        self._open_line = ""
        self._is_flowing = False  # the beginning of the open line is in head or tail already

    @property
    def has_news(self) -> bool:
        return bool(self._head)

    def write(self, *texts: str) -> None:
        """Write one line, given in parts, without its newline. It goes before a line that is still open."""
        with self._lock:
            if self._is_flowing:
                self._add("\n")
                self._is_flowing = False
            if sum(map(len, texts)) < PIECE:
                self._add("".join(texts) + "\n")
            else:
                for text in texts:
                    for piece in _pieces(text):
                        self._add(piece)
                self._add("\n")

    def write_text(self, text: str) -> None:
        """Write as to a stream: a line is open until its newline comes, or the end."""
        with self._lock:
            for piece in _pieces(text):
                self._flow(piece)

    def take(self, *, is_last: bool = False) -> str:
        """The text since the last call; with `is_last` the kept end as well."""
        with self._lock:
            if is_last and (self._open_line or self._is_flowing):
                self._flow("\n")
            taken, self._head = self._head, []
            if is_last:
                taken += self._end()
        return b"".join(taken).decode()

    def _flow(self, piece: str) -> None:
        lines, newline, rest = piece.rpartition("\n")
        if newline:
            self._add(f"{self._open_line}{lines}\n")
            self._open_line, self._is_flowing = rest, False
        else:
            self._open_line += piece
        if len(self._open_line) > PIECE:
            self._add(self._open_line)
            self._open_line, self._is_flowing = "", True

    def _add(self, text: str) -> None:
        data = visible(text).encode()
        if self._room:
            data = self._fill_head(data)
        self._tail += data
        self._rest += len(data)
        if len(self._tail) > 2 * self._tail_limit + PIECE:
            del self._tail[: -self._tail_limit - 1]  # one more: it tells whether the tail begins a line

    def _fill_head(self, data: bytes) -> bytes:
        """Add to the head what belongs there, and return the rest. The head ends with the first that does not fit."""
        kept = data
        if len(data) > self._room:
            is_cut = self._room > self._head_limit // 4
            kept = data[: _character_start(data, self._room)] if is_cut else b""
        self._room = self._room - len(data) if len(kept) == len(data) else 0
        if kept:
            self._head.append(kept)
            self._head_ends_a_line = kept.endswith(b"\n")
        return data[len(kept) :]

    def _end(self) -> list[bytes]:
        """The tail; if it is not all of the rest, after a line of its own that tells how much is missing."""
        tail, self._tail = self._tail, bytearray()
        if self._rest <= self._tail_limit:
            return [tail]
        tail = tail[-self._tail_limit - 1 :]
        newline = tail.find(b"\n", 0, self._tail_limit // 4)
        del tail[: newline + 1 or _character_end(tail)]
        mark = f"… {self._rest - len(tail)} bytes dropped …\n"
        return [mark.encode() if self._head_ends_a_line else f"\n{mark}".encode(), tail]


def _pieces(text: str):
    if len(text) <= PIECE:
        return (text,)
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _character_start(data: bytes, position: int) -> int:
    """The start of the character that the byte at `position` belongs to."""
    while data[position] & 0xC0 == 0x80:
        position -= 1
    return position


def _character_end(data: bytes) -> int:
    """Where a character starts behind the first byte of `data`."""
    position = 1
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position
