"""Raising an exception in a function that another thread executes, and nowhere else."""

import ctypes
import time
from collections.abc import Callable
from threading import get_ident
from typing import TypeVar

T = TypeVar("T")

# CPython has it. Elsewhere functions can only be asked to end.
_set_async_exc = getattr(getattr(ctypes, "pythonapi", None), "PyThreadState_SetAsyncExc", None)
is_available = _set_async_exc is not None


class Interruption:
    """The one interruption that a call may get. Made and called in the thread that is interrupted.

    Lock rule: there is no lock, because an interruption could leave it held. `_token` is taken by whoever comes first:
    the sender, which may raise then, or the end of the call, after which nobody may. Where the sender was first, the
    end waits until it has sent, and takes back what Python has not raised yet. An end that is cut short by the
    interruption itself is simply begun again: there is no second one.
    """

    def __init__(self):
        self._thread = get_ident()
        self._token: list[None] = []
        self._is_sent = self._is_closed = False

    def send(self, error: type[BaseException]) -> bool:
        """Have `error` raised in the function as soon as its thread executes Python code again; whether it was sent:
        not before the call, not after it, and not twice."""
        try:
            self._token.pop()
        except IndexError:
            return False
        _set_async_exc(ctypes.c_ulong(self._thread), ctypes.py_object(error))
        self._is_sent = True
        return True

    def call(self, function: Callable[[], T]) -> T:
        """What `function` returns or raises. When this returns, nothing is raised any more."""
        has_returned = False
        try:
            try:
                self._token.append(None)
                value = function()
                has_returned = True
            finally:
                self._close()
        except BaseException:
            self._close()
            if not has_returned:
                raise
        return value

    def _close(self) -> None:
        if self._is_closed:
            return
        try:
            self._token.pop()
        except IndexError:
            while not self._is_sent:
                time.sleep(0)
            _set_async_exc(ctypes.c_ulong(self._thread), None)
        self._is_closed = True
