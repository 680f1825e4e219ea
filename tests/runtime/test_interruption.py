"""An exception raised in a function from outside lands in the function or nowhere."""

import sys
import threading
from collections import deque

import pytest

from jobs.errors import ForcedStop
from jobs.runtime.interruption import Interruption
from tests.runtime.support import PATIENCE

BOUNDARIES = 10_000


def steps(count=200) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


class Sender:
    """A thread that sends into one call after the other, at the very moment in which the function ends."""

    def __init__(self):
        self.given: deque[Interruption] = deque()
        self.sent = 0
        self.is_done = False
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self):
        while not self.is_done:
            try:
                mine = self.given.pop()
            except IndexError:
                continue
            self.sent += mine.send(ForcedStop)

    def end(self):
        self.is_done = True
        self._thread.join(PATIENCE)


@pytest.fixture
def quick_switches():
    """Python changes threads as often as it can, so that any two steps of one may have the other's between them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("quick_switches")
def test_at_the_boundary_it_never_lands_outside():
    """10,000 times the sender is told just before the function's last step; what it sends must come out of this call,
    or not at all. A stray ForcedStop would end the test. Now and then the function waits for it, however busy the
    machine is."""
    sender, returned, stopped = Sender(), 0, 0
    expected = steps(20)
    for number in range(BOUNDARIES):
        mine = Interruption()

        def function(mine=mine, waits=number % 100 == 0):
            sender.given.append(mine)
            while waits:
                steps(1)
            return steps(20)

        try:
            assert mine.call(function) == expected
            returned += 1
        except ForcedStop:
            stopped += 1
        steps(3)
    sender.end()
    assert returned + stopped == BOUNDARIES
    assert sender.sent >= stopped > 0
    steps(1000)


def send_elsewhere(mine: Interruption, answers: list) -> None:
    """Send in another thread, and wait until it has."""
    sender = threading.Thread(target=lambda: answers.append(mine.send(ForcedStop)), daemon=True)
    sender.start()
    sender.join(PATIENCE)


class Token(list):
    """The token of a call, with somebody who sends right before or after one of its moves."""

    def __init__(self, moment: str, mine: Interruption, answers: list):
        self._moment, self._mine, self._answers = moment, mine, answers
        self._caller = threading.get_ident()

    def append(self, item):
        self._at("before the call")
        super().append(item)
        self._at("as it begins")

    def pop(self):
        if threading.get_ident() == self._caller:
            self._at("before it ends")
        token = super().pop()
        if threading.get_ident() == self._caller:
            self._at("after its end")
        return token

    def _at(self, moment: str) -> None:
        if moment == self._moment:
            self._moment = ""
            send_elsewhere(self._mine, self._answers)


@pytest.mark.parametrize(
    ("moment", "is_sent"),
    [("before the call", False), ("as it begins", True), ("before it ends", True), ("after its end", False)],
)
def test_at_each_moment_of_a_call_it_is_raised_in_it_or_not_at_all(moment, is_sent):
    mine, answers = Interruption(), []
    mine._token = Token(moment, mine, answers)
    try:
        assert mine.call(lambda: 42) == 42
    except ForcedStop:
        assert is_sent
    steps(1000)  # a stray one would be raised here
    assert answers == [is_sent]
    assert mine.send(ForcedStop) is False


def test_before_the_call_and_after_it_nothing_is_sent():
    mine = Interruption()
    assert mine.send(ForcedStop) is False
    assert mine.call(lambda: 1) == 1
    assert mine.send(ForcedStop) is False


def test_there_is_only_one():
    mine = Interruption()
    answers = []

    def function():
        for _ in range(2):
            try:
                send_elsewhere(mine, answers)
                steps()
            except ForcedStop:
                answers.append("raised")
        return "went on"

    assert mine.call(function) == "went on"
    assert sorted(answers, key=str) == [False, True, "raised"]


def test_what_the_function_raises_comes_out():
    def function():
        raise KeyError("mine")

    mine = Interruption()
    with pytest.raises(KeyError, match="mine"):
        mine.call(function)
    assert mine.send(ForcedStop) is False


def test_no_except_exception_holds_it_up_and_finally_works():
    started, cleaned = threading.Event(), []
    mine = Interruption()

    def function():
        started.set()
        while True:
            try:
                steps()
            except Exception:
                cleaned.append("held up")
            finally:
                cleaned.append("finally")

    def send():
        assert started.wait(PATIENCE)
        assert mine.send(ForcedStop)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    with pytest.raises(ForcedStop):
        mine.call(function)
    sender.join(PATIENCE)
    assert cleaned[-1] == "finally"
    assert "held up" not in cleaned
