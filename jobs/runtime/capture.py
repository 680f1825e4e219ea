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


def capture() -> None:
    """Have this process's log records captured from now on. Calling it again changes nothing."""
    logging.getLogger().addHandler(_handler)
