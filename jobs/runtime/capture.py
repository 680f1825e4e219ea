"""What functions log and print finds the run that it belongs to."""

import io
import logging
import sys
from contextlib import contextmanager
from threading import Lock

from jobs.runtime.context import current_run
from jobs.runtime.logs import PIECE, LogBuffer


def _log() -> LogBuffer | None:
    """The log of the run that this code executes in, if any."""
    return getattr(current_run(), "log", None)


class RunLogHandler(logging.Handler):
    """Writes a record to the log of the run that it belongs to, if any. Lives on the root logger.

    Where a site has no handler at all, Python tells warnings on stderr. It would not any more, because of this one.
    """

    def __init__(self):
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def filter(self, record: logging.LogRecord):
        """Asked before this handler's lock is taken: who configures logging meanwhile holds what is asked for here."""
        if record.levelno >= logging.WARNING and logging.lastResort is not None and self._is_alone(record.name):
            logging.lastResort.handle(record)
        return super().filter(record)

    def emit(self, record: logging.LogRecord) -> None:
        log = _log()
        if log is not None:
            try:
                log.write(*self._parts(record))
            except Exception:
                self.handleError(record)

    def _is_alone(self, name: str) -> bool:
        """Whether no other handler gets the records of this logger."""
        logger = logging.getLogger(name)
        while logger is not None:
            if any(handler is not self for handler in logger.handlers):
                return False
            logger = logger.parent if logger.propagate else None
        return True

    def _parts(self, record: logging.LogRecord) -> tuple[str, ...]:
        """The record's text. A giant message stands alone in it, so that nobody makes a copy of it."""
        message = record.getMessage()
        if len(message) <= PIECE:
            return (self.format(record),)
        frame = logging.makeLogRecord(record.__dict__ | {"msg": "", "args": None})
        text = self.format(frame)
        before = self.formatter.formatMessage(frame)
        return before, message, text[len(before) :]


_handler = RunLogHandler()


_root = logging.getLogger()


def ensure() -> None:
    """Have this process's log records captured. Asked before every run: whoever configures logging anew, as Django does
    when a server loads the site a second time, takes the root logger's handlers away."""
    if _handler not in _root.handlers:
        _root.addHandler(_handler)


class RunLogStream(io.TextIOBase):
    """A stream for whoever wants one to write to: what is written goes to the log of the current run, whatever
    CAPTURE_PRINTS says; outside of a run to the standard output."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        log = _log()
        if log is None:
            return sys.stdout.write(text)
        log.write_text(text)
        return len(text)

    def flush(self) -> None:
        if _log() is None and sys.stdout is not None:
            sys.stdout.flush()


class RunStdout(io.TextIOBase):
    """Stands for the process's standard output, which is in `real`. What a run prints goes to its log; everything else
    there, and everybody is told what it is like.

    The handler of a log record may be one that holds this stream. The record is in the log of its run already, so what
    a handler writes goes to the real output.
    """

    def __init__(self, real):
        self.real = real

    def write(self, text: str) -> int:
        log = _log()
        if log is None or _is_in_a_log_handler():
            return self.real.write(text)
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        log.write_text(text)
        return len(text)

    def writelines(self, lines) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self.real.flush()

    def close(self) -> None:
        """Nobody may close what all use; io does it to every stream that is no longer referred to."""

    def fileno(self) -> int:
        return self.real.fileno()

    def isatty(self) -> bool:
        return self.real.isatty()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self):
        return self.real.encoding

    @property
    def errors(self):
        return self.real.errors

    @property
    def newlines(self):
        return self.real.newlines

    @property
    def closed(self):
        return self.real.closed

    def __getattr__(self, name: str):  # buffer, line_buffering, reconfigure, name, mode, …
        return getattr(self.real, name)


def _is_in_a_log_handler() -> bool:
    handle, frame = logging.Handler.handle.__code__, sys._getframe(2)
    while frame is not None:
        if frame.f_code is handle:
            return True
        frame = frame.f_back
    return False


class PrintCapture:
    """Whether prints are captured in this process: as long as somebody who asked for it has not left.

    Lock rule: `enter` and `leave` take the lock.
    """

    def __init__(self):
        self._lock = Lock()
        self._users = 0
        self._stdout: RunStdout | None = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1 and sys.stdout is not None and not isinstance(sys.stdout, RunStdout):
                self._stdout = sys.stdout = RunStdout(sys.stdout)

    def leave(self) -> None:
        """The last one takes the stream away, unless somebody has put another one over it."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._stdout is not None:
                if sys.stdout is self._stdout:
                    sys.stdout = self._stdout.real
                self._stdout = None


_prints = PrintCapture()


def is_wanted(kind: str, setting: bool | None) -> bool:
    """Whether a scheduler of this kind captures prints; `setting` is JOBS["CAPTURE_PRINTS"]."""
    return kind == "runscheduler" if setting is None else setting


@contextmanager
def prints(are_captured: bool):
    """Capture prints within the block, if they are to be captured."""
    if not are_captured:
        yield
        return
    _prints.enter()
    try:
        yield
    finally:
        _prints.leave()
