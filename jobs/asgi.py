"""`with_scheduler` ties this process's scheduler to the life of an ASGI server."""

import os
import sys


def with_scheduler(app):
    """Wrap an ASGI application: the scheduler of the process starts when the server does, and stops in order before
    the server ends, with JOBS["GRACE_SECONDS"] for running functions, counted from the first request to stop.

    An ASGI server tells both by the lifespan protocol, which Django's own application does not know. If `app` knows it,
    `app` starts before the scheduler and stops after it. JOBS["AUTOSTART"] False leaves the process without scheduler.
    """

    async def application(scope, receive, send):
        if scope["type"] == "lifespan":
            await _Lifespan(receive, send).run(app, scope)
        else:
            await app(scope, receive, send)

    return application


class _Lifespan:
    """One lifespan of a server. Stands between the server and the application, and answers what that leaves open."""

    def __init__(self, receive, send):
        self._receive_from_server = receive
        self._send_to_server = send
        self._open: str | None = None  # what the server has asked for and nobody has answered: "startup", "shutdown"
        self._has_started = self._has_ended = False

    async def run(self, app, scope) -> None:
        try:
            await app(scope, self._receive, self._send)
        except Exception:
            if self._has_ended:
                raise
            if self._has_started or self._open:  # else it just does not know the protocol
                _log_error("the application's lifespan failed")
        while not self._has_ended:
            if self._open is None:
                await self._receive()
            await self._send({"type": f"lifespan.{self._open}.complete"})

    async def _receive(self) -> dict:
        message = await self._receive_from_server()
        self._open = message["type"].removeprefix("lifespan.")
        if self._open == "shutdown":
            await _stop()
        return message

    async def _send(self, message: dict) -> None:
        if message["type"] == "lifespan.startup.complete":
            _start()
            self._has_started = True
        else:  # a startup that failed, or the shutdown: the server asks for no more
            self._has_ended = True
        self._open = None
        await self._send_to_server(message)


def _start() -> None:
    # Imported here: a site may import this module before its apps are loaded.
    from django.core.exceptions import ImproperlyConfigured

    from jobs.conf import get_settings
    from jobs.runtime import autostart

    try:
        setting = get_settings().AUTOSTART
    except ImproperlyConfigured:
        _log_error("the scheduler does not start: the JOBS setting is wrong")
        return
    if autostart.starts_with_lifespan(sys.argv, os.environ, setting):
        autostart.start()


async def _stop() -> None:
    """In a thread: the server goes on meanwhile."""
    from asgiref.sync import sync_to_async

    from jobs.runtime import scheduler

    if not await sync_to_async(scheduler.stop, thread_sensitive=False)():
        _log_error("the scheduler did not end in time; other workers take over what it left")


def _log_error(message: str) -> None:
    from jobs.core.log import Log

    is_handled = sys.exc_info()[0] is not None
    (Log("jobs").exception if is_handled else Log("jobs").error)(message)
