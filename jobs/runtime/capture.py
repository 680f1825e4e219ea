"""Log records find the run that they belong to."""

import logging

from jobs.runtime.context import current_run


class RunLogHandler(logging.Handler):
    """Writes a record to the log of the run that it belongs to, if any. Lives on the root logger."""

    def __init__(self):
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        log = getattr(current_run(), "log", None)
        if log is not None:
            try:
                log.write(self.format(record))
            except Exception:
                self.handleError(record)


_handler = RunLogHandler()


_root = logging.getLogger()


def ensure() -> None:
    """Have this process's log records captured. Asked before every run: whoever configures logging anew, as Django does
    when a server loads the site a second time, takes the root logger's handlers away."""
    if _handler not in _root.handlers:
        _root.addHandler(_handler)
