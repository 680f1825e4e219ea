"""The log of one execution: its head and its tail, and how much lies between."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from jobs.runtime.logs import LogBuffer

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\n")
lines = st.lists(st.text(characters, max_size=30), max_size=40)  # at most 121 bytes each
DROPPED = re.compile(r"^… (\d+) bytes dropped …$")


def size(line: str) -> int:
    return len(line.encode()) + 1


def model(written: list[str], max_bytes: int) -> tuple[list[str], list[str]]:
    """Head and tail that are to be kept of whole lines: as many from the front as fit into the first half, and of the
    rest as many from the end as fit into the second; both without gaps."""
    head_room, tail_room = max_bytes // 2, max_bytes - max_bytes // 2
    head, tail, rest = [], [], list(written)
    while rest and size(rest[0]) <= head_room:
        head_room -= size(rest[0])
        head.append(rest.pop(0))
    while rest and size(rest[-1]) <= tail_room:
        tail_room -= size(rest[-1])
        tail.insert(0, rest.pop())
    return head, tail


def kept(buffer: LogBuffer, written: list[str], takes: set[int]) -> list[str]:
    """Write the lines, handing over what there is after those numbered in `takes`; the lines that came out."""
    text = ""
    for number, line in enumerate(written):
        buffer.write(line)
        if number in takes:
            text += buffer.take()
    text += buffer.take(is_last=True)
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1]


@given(lines, st.integers(250, 600), st.sets(st.integers(0, 39)))
@example(["a" * 124, "b" * 124, "c"], 250, set())
@example(["a" * 100, "b" * 100, "c"], 250, set())  # the last would fit into the head, but it is not its turn
def test_head_tail_and_the_count_between(written, max_bytes, takes):
    head, tail = model(written, max_bytes)
    dropped = sum(map(size, written)) - sum(map(size, head + tail))
    out = kept(LogBuffer(max_bytes), written, takes)
    between = [f"… {dropped} bytes dropped …"] if dropped else []
    assert out == head + between + tail
    assert sum(map(size, head + tail)) <= max_bytes


@given(st.text(characters, min_size=100, max_size=300))
def test_of_one_huge_line_the_end_is_kept(line):
    mark, end = kept(LogBuffer(64), [line], set())
    assert line.endswith(end)
    assert 28 <= size(end) <= 32  # as much as fits in whole characters
    assert int(DROPPED.match(mark)[1]) == size(line) - size(end)


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
    for line in ("head", "a" * 8, "b" * 8):
        buffer.write(line)
    assert buffer.take() == "head\n"
    assert not buffer.has_news
    assert buffer.take(is_last=True) == f"… 9 bytes dropped …\n{'b' * 8}\n"


def test_memory_stays_small_however_much_is_written():
    buffer = LogBuffer(1000)
    for number in range(20_000):
        buffer.write(f"line {number} " + "x" * 100)
    assert sum(map(size, buffer._tail)) <= 500
    text = buffer.take(is_last=True)
    assert text.startswith("line 0 x")
    assert "\nline 19999 x" in text
    assert len(text) < 1100
