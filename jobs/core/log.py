"""Log calls that cost nothing but themselves."""

import logging
from contextlib import suppress


class Log:
    """A logger whose calls never raise: a handler that does must end neither an outcome nor a thread."""

    def __init__(self, name: str):
        self._logger = logging.getLogger(name)

    def info(self, message: str, *args) -> None:
        self._log(logging.INFO, message, args)

    def warning(self, message: str, *args) -> None:
        self._log(logging.WARNING, message, args)

    def error(self, message: str, *args, exc_info=None) -> None:
        self._log(logging.ERROR, message, args, exc_info)

    def exception(self, message: str, *args) -> None:
        """As `error`, with the traceback of the exception that is being handled."""
        self._log(logging.ERROR, message, args, True)

    def _log(self, level: int, message: str, args: tuple, exc_info=None) -> None:
        with suppress(Exception):
            self._logger.log(level, message, *args, exc_info=exc_info, stacklevel=3)
