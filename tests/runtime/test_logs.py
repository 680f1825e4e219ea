"""The log of one execution: its head and its tail, and how much lies between."""

import re
import tracemalloc

from hypothesis import example, given
from hypothesis import strategies as st

from jobs.runtime.logs import PIECE, LogBuffer

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\n\x00")
lines = st.lists(st.text(characters, max_size=200), max_size=40)
texts = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=120), max_size=40
)
limits = st.integers(64, 3000)
takes = st.sets(st.integers(0, 39))
MARK = re.compile(r"… (\d+) bytes dropped …\n")


def cut(data: bytes) -> bytes:
    """The whole characters at the beginning."""
    return data.decode(errors="ignore").encode()


def model(written: list[bytes], max_bytes: int) -> tuple[bytes, bytes]:
    """Head and tail that are to be kept: whole lines, unless that leaves more than a quarter of them empty."""
    head_limit, tail_limit = max_bytes // 2, max_bytes - max_bytes // 2
    head = b""
    for line in written:
        room = head_limit - len(head)
        head += line if len(line) <= room else cut(line[:room]) if room > head_limit // 4 else b""
        if len(line) > room or len(line) == room:
            break
    rest = b"".join(written)[len(head) :]
    if len(rest) <= tail_limit:
        return head, rest
    tail = rest[-tail_limit:]
    if rest[-tail_limit - 1 : -tail_limit] != b"\n":
        newline = tail.find(b"\n", 0, tail_limit // 4 - 1)
        tail = tail[newline + 1 :] if newline >= 0 else tail.decode(errors="ignore").encode()
    return head, tail


def stored(buffer: LogBuffer, write, written: list[str], takes: set[int]) -> bytes:
    """Write all, handing over what there is after those numbered in `takes`; what came out in all."""
    text = ""
    for number, each in enumerate(written):
        write(each)
        if number in takes:
            text += buffer.take()
    return (text + buffer.take(is_last=True)).encode()


def is_head_mark_tail(out: bytes, full: bytes, max_bytes: int) -> bool:
    """What must hold whatever was written in whatever pieces."""
    if out == full:
        return True
    for mark in MARK.finditer(out.decode()):
        before, tail = out.decode()[: mark.start()].encode(), out.decode()[mark.end() :].encode()
        for head in heads(before):
            is_exact = int(mark[1]) == len(full) - len(head) - len(tail)
            if is_exact and full.startswith(head) and full.endswith(tail) and len(head) + len(tail) <= max_bytes:
                return True
    return False


def heads(before: bytes) -> list[bytes]:
    """What may have been kept before the mark, which begins a line, with a newline of its own where one is needed."""
    if not before.endswith(b"\n"):
        return [before] if not before else []
    return [before] if before[:-1].endswith(b"\n") else [before, before[:-1]]


@given(lines, limits, takes)
@example(["a" * 124, "b" * 124, "c"], 250, set())
@example(["a" * 100, "b" * 100, "c"], 250, set())  # the last would fit into the head, but it is not its turn
@example(["é" * 150], 64, set())
def test_head_tail_and_the_count_between(written, max_bytes, takes):
    buffer = LogBuffer(max_bytes)
    full = [f"{line}\n".encode() for line in written]
    head, tail = model(full, max_bytes)
    dropped = sum(map(len, full)) - len(head + tail)
    mark = f"… {dropped} bytes dropped …\n" if dropped else ""
    if dropped and head and not head.endswith(b"\n"):
        mark = f"\n{mark}"
    assert stored(buffer, buffer.write, written, takes) == head + mark.encode() + tail


@given(texts, limits, takes)
@example(["a" * 3000] * 30, 3000, set())
@example(["a" * (PIECE + 1), "\n"] * 2, 100_000, set())
@example(["é" * (2 * PIECE + 1)], 1025, set())
@example(["a\n", "b" * 100, "é\n" * 100], 64, {0, 1})
@example(["a" * 26 + "\n", "b" * 32], 64, set())  # a byte is dropped behind a head that ends a line
def test_a_stream_in_pieces_of_any_kind(written, max_bytes, takes):
    buffer = LogBuffer(max_bytes)
    full = "".join(written)
    if full and not full.endswith("\n"):
        full += "\n"
    assert is_head_mark_tail(stored(buffer, buffer.write_text, written, takes), full.encode(), max_bytes)


@given(st.integers(0, 40_000), st.integers(1024, 40_000))
def test_of_one_giant_line_beginning_and_end_are_kept(length, max_bytes):
    line = "".join(map(str, range(length // 4)))
    buffer = LogBuffer(max_bytes)
    out = stored(buffer, buffer.write, [line], set())
    full = f"{line}\n".encode()
    assert is_head_mark_tail(out, full, max_bytes)
    assert len(out) >= min(len(full), max_bytes * 3 // 4)


def test_a_line_is_open_until_its_newline_and_others_go_before_it():
    buffer = LogBuffer(1000)
    for text in ("one", " and", " two"):
        buffer.write_text(text)
        assert not buffer.has_news
    buffer.write("a record")
    buffer.write_text("\nthree")
    assert buffer.take() == "a record\none and two\n"
    assert buffer.take(is_last=True) == "three\n"


def test_a_record_in_the_middle_of_an_endless_line_breaks_it():
    buffer = LogBuffer(100_000)
    buffer.write_text("x" * (PIECE + 1))
    buffer.write("a record")
    buffer.write_text("y\n")
    assert buffer.take(is_last=True) == "x" * (PIECE + 1) + "\na record\ny\n"


def test_text_that_databases_refuse_is_made_visible():
    buffer = LogBuffer(1000)
    buffer.write("a\x00b\ud800c")
    assert buffer.take(is_last=True) == "a\\x00b\\ud800c\n"


def test_what_is_handed_over_comes_once_and_at_once():
    buffer = LogBuffer(1000)
    buffer.write("one")
    assert buffer.has_news
    assert buffer.take() == "one\n"
    assert not buffer.has_news
    assert buffer.take() == ""
    buffer.write("two")
    assert buffer.take(is_last=True) == "two\n"


def test_the_tail_waits_for_the_end():
    """Only then is it known what the tail is; until then there is no news to write."""
    buffer = LogBuffer(20)
    for line in ("headings", "a" * 8, "b" * 8):
        buffer.write(line)
    assert buffer.take() == "headings\n"
    assert not buffer.has_news
    assert buffer.take(is_last=True) == f"… 9 bytes dropped …\n{'b' * 8}\n"


def test_memory_stays_small_however_much_is_written():
    giant, many = "x" * 5_000_000, "many lines of text\n" * 200_000
    buffer = LogBuffer(100_000)
    tracemalloc.start()
    try:
        for number in range(20_000):
            buffer.write(f"line {number} " + "x" * 100)
        buffer.write(giant)
        buffer.write_text(many)
        buffer.write_text(giant)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400_000
    text = buffer.take(is_last=True)
    assert text.startswith("line 0 x")
    assert len(text) < 100_050
