"""For tests of code that enqueues: run what is due on the spot, and move the clock."""

from datetime import UTC, datetime, timedelta

from jobs.conf import get_settings
from jobs.core import clock
from jobs.runtime.dispatcher import Dispatcher
from jobs.runtime.executors.inline import InlineExecutor


def drain(*, queues=None) -> int:
    """Run everything that is due, in its order, in the calling thread, until nothing is left; how many runs it was.

    `queues` (names) restricts it to these queues. Works inside a TestCase: the runs happen in its transaction. Raises
    TypeError for a single text: `queues=["default"]`.
    """
    if isinstance(queues, str):
        raise TypeError(f"queues must be a list of names, got the text {queues!r}; write queues=[{queues!r}].")
    executor = InlineExecutor()
    dispatcher = Dispatcher(executor, get_settings(), kind="drain", queues=queues, stays=False)
    dispatcher.enter()
    try:
        while dispatcher.cycle() or dispatcher.hold.is_busy:
            pass
        dispatcher.request_stop(0)
        while not dispatcher.is_done:
            dispatcher.cycle()
    finally:
        dispatcher.leave()
    return executor.executed


class FakeClock(clock.Clock):
    """A clock that stands still until it is moved; a context manager that puts itself in the real one's place."""

    def __init__(self, now: datetime = datetime(2027, 1, 1, tzinfo=UTC)):
        self._now = now
        self._monotonic = 1000.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def move(self, seconds: float) -> None:
        """Let time pass, for both clocks."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def move_to(self, moment: datetime) -> None:
        """Let time pass until `moment` (aware, not before now), for both clocks."""
        self.move((moment - self._now).total_seconds())

    def set_wall(self, moment: datetime) -> None:
        """Set the wall clock on or back, as an operator does; the monotonic one goes on as it was."""
        self._now = moment

    def __enter__(self) -> "FakeClock":
        self._before = clock.set_clock(self)
        return self

    def __exit__(self, *exc_info) -> None:
        clock.set_clock(self._before)
