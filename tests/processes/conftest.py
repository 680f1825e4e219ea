import pytest
from django.core.management import call_command
from django.db import connection

from benchmarks.servers import MariaDB, PostgreSQL
from jobs.models import Worker
from tests.processes.outages import connected_to
from tests.processes.support import Site

SERVERS = {"postgresql": PostgreSQL, "mysql": MariaDB}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that fails tells what its processes have printed."""
    report = yield
    site = getattr(item, "funcargs", {}).get("site")
    if report.when == "call" and report.failed and site is not None:
        report.sections += [(f"Output of {who}", text) for who, text in site.outputs]
    return report


@pytest.fixture
def site(transactional_db, tmp_path):
    found = list(Worker.objects.values_list("name", "state", "kind", "started_at"))
    assert found == [], "a process of an earlier test has left its worker behind"
    site = Site(tmp_path)
    yield site
    site.end()


@pytest.fixture(scope="session")
def own_server():
    """A server of the kind that the tests run on, which tests may stop, kill and freeze."""
    kind = SERVERS.get(connection.vendor)
    if kind is None:
        pytest.skip("SQLite has no server")
    if not kind.is_installed():
        pytest.skip(f"{kind.name} is not installed here")
    with kind() as server:
        yield server


@pytest.fixture(scope="module")
def server(own_server, request, django_db_setup, django_db_blocker):
    """The server on which all tests of the module work, and the processes that they start, instead of the tests' own
    database. It must be at work again at the end of each."""
    database = request.module.__name__.split(".")[-1]
    own_server.create(database)
    with connected_to(own_server, database), django_db_blocker.unblock():
        call_command("migrate", verbosity=0)
        yield own_server
