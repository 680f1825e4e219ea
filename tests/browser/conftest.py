"""One server and one browser for all tests here. Each test begins with an empty database and leaves nothing at work."""

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from playwright.sync_api import expect

from tests.browser.chromium import HINT, browser, complaints, program, window
from tests.browser.server import Server, make_user, session_of

PATIENCE = 30  # seconds; only a failing test waits that long


def pytest_collection_modifyitems(items):
    if program() is None:
        for item in items:
            if "chromium" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason=HINT))


@pytest.fixture(scope="package")
def chromium():
    expect.set_options(timeout=PATIENCE * 1000)
    with browser() as started:
        yield started


@pytest.fixture(scope="package")
def servers(chromium, django_db_setup, django_db_blocker):
    """A list for the server, which cannot start before the first test has unlocked the database."""
    started = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright's own event loop is in this thread
        yield started
        for server in started:
            server.end()
            with django_db_blocker.unblock():  # its worker may have come back after the last test's end
                call_command("flush", interactive=False, verbosity=0)
        connections.close_all()  # those of the event loop


@pytest.fixture
def server(servers, transactional_db, tmp_path_factory):
    if not servers:
        servers.append(Server(tmp_path_factory.mktemp("site")))
        servers[0].start()  # in the list already: it is ended too if it does not start well
    servers[0].wait_for_worker()
    yield servers[0]
    servers[0].come_to_rest()


@pytest.fixture
def open_page(chromium, server):
    """Open a page in a window of its own, logged in as a user. In the end the browser must have no complaint."""
    windows, heard = [], []

    def open_one(user=None, **options):
        opened = window(chromium, server.url, **options)
        opened.set_default_timeout(PATIENCE * 1000)
        if user is not None:
            opened.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session_of(user), "url": server.url}])
        windows.append(opened)
        heard.append(complaints(opened))
        return opened.new_page()

    yield open_one
    for opened in windows:
        opened.close()
    assert [each for of_page in heard for each in of_page] == []


@pytest.fixture
def operator(server):
    return make_user("olga", is_superuser=True)


@pytest.fixture
def page(open_page, operator):
    """A page of somebody who may do everything."""
    return open_page(operator)
