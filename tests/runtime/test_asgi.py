"""`with_scheduler`: a server, driven by hand, tells when it begins and ends."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.core.asgi import get_asgi_application

from jobs.asgi import with_scheduler
from jobs.runtime import autostart, scheduler

STARTUP, SHUTDOWN = {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}
STARTED, STOPPED = {"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}
FAILED = {"type": "lifespan.startup.failed", "message": "no"}


@pytest.fixture(autouse=True)
def events(monkeypatch, settings):
    """What happens, in order; no scheduler really starts."""
    settings.JOBS = {**settings.JOBS, "AUTOSTART": True}
    events = []
    monkeypatch.setattr(autostart, "start", lambda: events.append("start"))
    monkeypatch.setattr(scheduler, "stop", lambda: events.append("stop") or True)
    return events


def live(app, messages, events):
    """A whole life of a server with this application; what it is told is among the events."""

    async def run():
        queue = asyncio.Queue()
        for message in messages:
            queue.put_nowait(message)

        async def send(message):
            events.append(message["type"])

        await asyncio.wait_for(app({"type": "lifespan", "state": {}}, queue.get, send), 20)

    asyncio.run(run())


def inner(events, *, on_startup=STARTED, raise_at=None, leaves_at=None):
    """An application with a lifespan of its own."""

    async def app(scope, receive, send):
        if raise_at == "once":
            raise ValueError("no lifespan here")
        while True:
            message = await receive()
            name = message["type"]
            events.append(f"the app's {name}")
            if name == raise_at:
                raise RuntimeError("broken")
            if name == leaves_at:
                return
            await send(on_startup if name == "lifespan.startup" else STOPPED)
            if name == "lifespan.shutdown" or on_startup is FAILED:
                return
            if raise_at == "later":
                raise RuntimeError("broken later")

    return app


ALONE = ["start", "lifespan.startup.complete", "stop", "lifespan.shutdown.complete"]


@pytest.mark.parametrize("make", [get_asgi_application, lambda: inner([], raise_at="once")], ids=["Django", "by hand"])
def test_an_application_without_lifespan_is_answered_for(events, make):
    live(with_scheduler(make()), [STARTUP, SHUTDOWN], events)
    assert events == ALONE


def test_the_lifespan_of_the_application_lies_around_that_of_the_scheduler(events):
    live(with_scheduler(inner(events)), [STARTUP, SHUTDOWN], events)
    assert events == [
        "the app's lifespan.startup", "start", "lifespan.startup.complete",
        "stop", "the app's lifespan.shutdown", "lifespan.shutdown.complete",
    ]  # fmt: skip


@pytest.mark.parametrize("way", ["raise_at", "leaves_at"])
@pytest.mark.parametrize("name", ["lifespan.startup", "lifespan.shutdown"])
def test_what_it_has_taken_and_not_answered_is_answered(events, way, name):
    live(with_scheduler(inner(events, **{way: name})), [STARTUP, SHUTDOWN], events)
    assert [event for event in events if not event.startswith("the app's")] == ALONE


def test_one_that_breaks_between_start_and_end_leaves_the_scheduler_its_end(events):
    live(with_scheduler(inner(events, raise_at="later")), [STARTUP, SHUTDOWN], events)
    assert [event for event in events if not event.startswith("the app's")] == ALONE


def test_one_that_cannot_start_is_reported_and_nothing_starts(events):
    live(with_scheduler(inner(events, on_startup=FAILED)), [STARTUP], events)
    assert events == ["the app's lifespan.startup", "lifespan.startup.failed"]


def test_with_autostart_off_nothing_starts(events, settings):
    settings.JOBS = {**settings.JOBS, "AUTOSTART": False}
    live(with_scheduler(inner([], raise_at="once")), [STARTUP, SHUTDOWN], events)
    assert "start" not in events


def test_in_tests_nothing_starts_by_itself(events, settings):
    settings.JOBS = {**settings.JOBS, "AUTOSTART": None}
    live(with_scheduler(inner([], raise_at="once")), [STARTUP, SHUTDOWN], events)
    assert "start" not in events


def test_with_wrong_settings_the_server_starts_all_the_same(events, settings):
    settings.JOBS = {"THREADS": "many"}
    live(with_scheduler(inner([], raise_at="once")), [STARTUP, SHUTDOWN], events)
    assert events == ["lifespan.startup.complete", "stop", "lifespan.shutdown.complete"]


def test_the_event_loop_goes_on_while_the_scheduler_stops(events, monkeypatch):
    async def run():
        loop, queue, ticked = asyncio.get_running_loop(), asyncio.Queue(), asyncio.Event()
        queue.put_nowait(STARTUP)
        queue.put_nowait(SHUTDOWN)

        def stop():
            """Ends when the loop has answered, which it cannot while this is done in its own thread."""
            asyncio.run_coroutine_threadsafe(sync_to_async(ticked.set)(), loop).result(20)
            return True

        monkeypatch.setattr(scheduler, "stop", stop)

        async def send(message):
            events.append(message["type"])

        await asyncio.wait_for(with_scheduler(inner([]))({"type": "lifespan"}, queue.get, send), 20)
        assert ticked.is_set()

    asyncio.run(run())
    assert events[-1] == "lifespan.shutdown.complete"


@pytest.mark.parametrize("kind", ["http", "websocket", "something new"])
def test_every_other_scope_is_passed_on_untouched(events, kind):
    got, scope, receive, send = [], {"type": kind}, object(), object()

    async def app(*given):
        got.extend(given)

    asyncio.run(with_scheduler(app)(scope, receive, send))
    assert [id(each) for each in got] == [id(scope), id(receive), id(send)]
    assert events == []
