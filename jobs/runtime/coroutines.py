"""Async functions: one event loop in one thread, on which the coroutines of all runs take turns."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from threading import Lock, Thread

from asgiref.sync import SyncToAsync, ThreadSensitiveContext, async_to_sync, sync_to_async
from django.db import connections

from jobs.errors import Cancelled

# Is given, while the coroutine runs, a function that cancels it from any thread.
Cancellable = Callable[[Callable[[], object]], None]


def run_in_loop(coroutine: Coroutine, *, cancellable: Cancellable) -> object:
    """Have the coroutine executed in the caller's context and return its result, or raise what it raised. The
    CancelledError of one that was cancelled through `cancellable` becomes Cancelled."""
    return _loop_thread.run(coroutine, cancellable)


def run_here(coroutine: Coroutine, *, cancellable: Cancellable) -> object:
    """The same in the caller's thread, where nobody can cancel it. Its synchronous parts see the caller's
    transaction."""

    async def awaited():
        return await coroutine

    return async_to_sync(awaited)()


class LoopThread:
    """Lock rule: `_lock` guards the start."""

    def __init__(self):
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine, cancellable: Cancellable) -> object:
        has_value, result = asyncio.run_coroutine_threadsafe(_ended(coroutine, cancellable), self._started()).result()
        if has_value:
            return result
        raise result

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=self._loop.run_forever, name="jobs-async", daemon=True).start()
            return self._loop


async def _ended(coroutine: Coroutine, cancellable: Cancellable) -> tuple[bool, object]:
    """Raises nothing: SystemExit in a task would end the loop, and with it the coroutines of all others."""
    loop, task, is_cancelled = asyncio.get_running_loop(), asyncio.current_task(), False

    def cancel_in_loop() -> None:
        nonlocal is_cancelled
        is_cancelled = task.cancel()

    cancellable(lambda: loop.call_soon_threadsafe(cancel_in_loop))
    async with ThreadSensitiveContext() as context:
        try:
            ended = True, await coroutine
        except asyncio.CancelledError as error:
            ended = False, Cancelled().with_traceback(error.__traceback__) if is_cancelled else error
        except BaseException as error:
            ended = False, error
        await _close_connections(context)
    return ended


async def _close_connections(context: ThreadSensitiveContext) -> None:
    """Those of the thread in which this run's synchronous code was executed, if there was any. What still works there
    is waited for, however often one tries to cancel it meanwhile: the run has not ended before."""
    if context not in SyncToAsync.context_to_thread_executor:
        return
    closing = asyncio.ensure_future(sync_to_async(connections.close_all)())
    while not closing.done():
        with suppress(BaseException):
            await asyncio.shield(closing)


_loop_thread = LoopThread()


def _forget_in_child() -> None:
    """A fork copies no threads."""
    global _loop_thread
    _loop_thread = LoopThread()


os.register_at_fork(after_in_child=_forget_in_child)
