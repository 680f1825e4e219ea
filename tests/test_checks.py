import pytest
from django.conf import settings as django_settings
from django.core.checks import run_checks

from jobs.lifecycle.database import alias
from jobs.registry import registry


def found():
    return {check.id: check for check in run_checks(tags=["jobs"], databases=[])}


@pytest.fixture
def database(monkeypatch):
    """Change entries of the database's settings, as the checks see them."""
    config = django_settings.DATABASES[alias()]

    def change(**entries):
        for key, value in entries.items():
            monkeypatch.setitem(config, key, value)

    change(
        ENGINE="django.db.backends.sqlite3",
        OPTIONS={"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"},
        ATOMIC_REQUESTS=False,
    )
    return change


def test_a_right_site_has_no_findings(database):
    assert found() == {}


def test_every_problem_of_the_setting(settings):
    settings.JOBS = {"THREDS": 2, "POLL_SECONDS": 0}
    errors = [check for check in run_checks(tags=["jobs"]) if check.id == "jobs.E001"]
    assert [error.is_serious() for error in errors] == [True, True]
    assert "'THREDS'" in errors[0].msg
    assert errors[0].hint == 'Did you mean "THREADS"?'
    assert "POLL_SECONDS" in errors[1].msg
    assert errors[1].hint


def test_without_django_htmx(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_htmx"]
    warning = found()["jobs.W004"]
    assert "django_htmx is not in INSTALLED_APPS" in warning.msg
    assert not warning.is_serious()


def test_a_broken_tasks_module(monkeypatch):
    monkeypatch.setattr(registry, "broken_modules", {"shop.tasks": "ImportError: no driver"})
    error = found()["jobs.E002"]
    assert "shop.tasks could not be imported: ImportError: no driver" in error.msg
    assert "restart" in error.hint
    assert error.is_serious()


@pytest.mark.parametrize("mode", [None, "DEFERRED", "deferred", ""])
def test_a_transaction_mode_that_cannot_wait(database, mode):
    database(OPTIONS={"transaction_mode": mode, "init_command": "PRAGMA journal_mode=WAL"})
    assert list(found()) == ["jobs.W001"]
    assert '"transaction_mode": "IMMEDIATE"' in found()["jobs.W001"].hint


@pytest.mark.parametrize("mode", ["IMMEDIATE", "immediate", "EXCLUSIVE"])
def test_a_transaction_mode_that_waits(database, mode):
    database(OPTIONS={"transaction_mode": mode, "init_command": "pragma journal_mode = wal"})
    assert found() == {}


@pytest.mark.parametrize("command", [None, "", "PRAGMA synchronous=NORMAL"])
def test_no_wal(database, command):
    database(OPTIONS={"transaction_mode": "IMMEDIATE", "init_command": command})
    assert list(found()) == ["jobs.W002"]
    assert "journal_mode=WAL" in found()["jobs.W002"].hint


def test_atomic_requests(database):
    database(ATOMIC_REQUESTS=True)
    assert list(found()) == ["jobs.W003"]
    assert "transaction.atomic()" in found()["jobs.W003"].hint


def test_djangos_default_sqlite_options_get_both_warnings(database):
    database(OPTIONS={})
    assert list(found()) == ["jobs.W001", "jobs.W002"]
    assert not any(check.is_serious() for check in found().values())


def test_other_databases_are_not_asked_for_sqlites_options(database):
    database(ENGINE="django.db.backends.postgresql", OPTIONS={}, ATOMIC_REQUESTS=True)
    assert found() == {}
