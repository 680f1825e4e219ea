"""Keeps several worker processes at work: starts them, starts them again when they die, and passes a stop on."""

import signal
import sys
from collections.abc import Callable, Iterable

from jobs.core import clock
from jobs.core.log import Log
from jobs.runtime.lifeline import WorkerProcess
from jobs.runtime.restarts import Place
from jobs.runtime.signal_inbox import STOPS, SignalInbox

logger = Log("jobs")

# The exit code of a worker that refuses to work as long as nobody changes something (EX_CONFIG of sysexits.h).
REFUSED = 78

# A worker that is asked to stop while it still loads the site has no handler yet: it dies of the signal, and holds
# nothing. So does one whose handlers are gone already, after its last write.
_ENDS_OF_A_STOP = (0, -signal.SIGTERM, -signal.SIGINT)


class Supervisor:
    """`run()` it once, in the main thread of a process that does nothing else.

    `launch` starts one worker process. With `restarts` False a process that has ended is not started again.
    After the run, `refusal` says why the workers refuse to work, if they do, and `failures` how many ended badly for
    good: at a stop, or without restarts.
    """

    def __init__(self, launch: Callable[[], WorkerProcess], processes: int, *, restarts: bool = True):
        self.refusal: str | None = None
        self.failures = 0
        self._launch = launch
        self._restarts = restarts
        self._places = [Place(number) for number in range(1, processes + 1)]
        self._processes: dict[Place, WorkerProcess] = {}
        self._is_stopping = False

    def run(self) -> None:
        with SignalInbox([*STOPS, signal.SIGCHLD]) as inbox:
            self.step()
            while not self.is_done:
                self.step(inbox.wait(self.next_start_in()))

    def step(self, signals: Iterable[int] = ()) -> None:
        """Take note of processes that have ended, act on signals that have come, and start processes that are due."""
        for place, process in list(self._processes.items()):  # before a stop, of which they may not have died
            if (code := process.exit_code()) is not None:
                del self._processes[place]
                self._has_ended(place, process, code)
        for number in signals:
            if number in STOPS:
                self._on_stop_signal(number)
        for place in self._places:
            if place.starts_in(clock.monotonic()) <= 0:
                self._start(place)

    @property
    def is_done(self) -> bool:
        return not self._processes and self.next_start_in() == float("inf")

    def next_start_in(self) -> float:
        """Seconds until the next process is to be started; infinite if none is."""
        now = clock.monotonic()
        return min(place.starts_in(now) for place in self._places)

    def _start(self, place: Place) -> None:
        place.started(clock.monotonic())
        try:
            process = self._processes[place] = self._launch()
        except OSError as error:
            self._has_no_process(place, f"process {place.number}", f"could not be started ({error})")
        else:
            logger.info("process %s is started: pid %s", place.number, process.pid)

    def _on_stop_signal(self, number: int) -> None:
        name = signal.Signals(number).name
        if not self._is_stopping:
            logger.info("%s: the processes stop in order", name)
            self._stop()
        else:
            logger.info("%s: the time of grace is over", name)
            for process in self._processes.values():
                process.end_the_grace()

    def _stop(self) -> None:
        self._is_stopping = True
        for place in self._places:
            place.close()
        for process in self._processes.values():
            process.stop()

    def _has_ended(self, place: Place, process: WorkerProcess, code: int) -> None:
        words, who, how = process.last_words(), f"process {place.number} (pid {process.pid})", how_it_ended(code)
        if code == REFUSED:
            self._refuse(words or "The processes refuse to work.")
        elif self._is_in_order(code):
            logger.info("%s %s", who, how)
        else:
            self._has_no_process(place, who, how)

    def _is_in_order(self, code: int) -> bool:
        return code in _ENDS_OF_A_STOP if self._is_stopping else code == 0 and not self._restarts

    def _has_no_process(self, place: Place, who: str, how: str) -> None:
        """It should have one. Start the next one after a pause, if there shall be a next one."""
        if self._is_stopping or not self._restarts:
            self.failures += 1
            logger.warning("%s %s", who, how)
        else:
            logger.warning("%s %s; the next one starts in %.0f s", who, how, place.ended(clock.monotonic()))

    def _refuse(self, words: str) -> None:
        """What one refuses, all would: no restart helps."""
        if self.refusal is None:
            self.refusal = words
            self._stop()


def how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"was ended by signal {-code}"


def worker_command() -> list[str]:
    """The command line that started this process, without --processes."""
    kept, given = [sys.executable], iter(sys.orig_argv[1:])
    for argument in given:
        name, has_value, _ = argument.partition("=")
        if len(name) > len("--p") and "--processes".startswith(name):  # argparse takes its beginnings for it as well
            if not has_value:
                next(given, None)
        else:
            kept.append(argument)
    return kept
