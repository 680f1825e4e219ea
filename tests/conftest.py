"""What all tests share."""

import signal

import pytest

# Before they are imported: their assertions tell what they have seen, as those of the tests do.
pytest.register_assert_rewrite(*(f"tests.{name}" for name in ("browser", "core", "lifecycle", "processes", "runtime")))

from tests.database import Refusals  # noqa: E402

# A shell starts what shall run in the background with Ctrl-C switched off, and all processes below inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Tests log texts that cannot be encoded; what they have printed is sent from one test process to another."""
    report = yield
    report.sections = [(title, text.encode("utf-8", "backslashreplace").decode()) for title, text in report.sections]
    return report


@pytest.fixture
def refuse(transactional_db):
    """Have the database refuse every UPDATE of a row of jobs_run, or what is asked for, for which an SQL condition on
    NEW holds."""
    refusals = Refusals()
    yield refusals
    refusals.end()
