"""The site is safe without any environment, and does what its environment says."""

import stat
from dataclasses import fields

import pytest

from config import settings
from jobs.conf import Settings


def test_without_any_environment_django_has_nothing_to_warn_of(site):
    code, output = site.manage("check", "--deploy", "--fail-level", "WARNING")

    assert (code, output) == (0, "System check identified no issues (0 silenced).\n")


def test_the_secret_key_is_made_once_and_kept_from_others(site):
    first, second = site.setting("s.SECRET_KEY"), site.setting("s.SECRET_KEY")

    assert first == second == (site.var / "secret_key").read_text().strip()
    assert len(first) >= 50
    assert stat.S_IMODE((site.var / "secret_key").stat().st_mode) == 0o600


@pytest.mark.parametrize("key", ["from outside", "$looks-like-a-variable"])
def test_a_secret_key_from_the_environment_is_used_and_not_stored(site, key):
    assert site.setting("s.SECRET_KEY", SECRET_KEY=key) == key
    assert not (site.var / "secret_key").exists()


HTTPS_SETTINGS = "s.SECURE_SSL_REDIRECT, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_HSTS_SECONDS > 0"


@pytest.mark.parametrize(
    ("environment", "command", "is_https"),
    [
        ({}, "runserver", True),
        ({"DEBUG": "on"}, "runserver", False),
        ({"HTTPS": "off"}, "runserver", False),
        ({"DEBUG": "on", "HTTPS": "on"}, "runserver", True),
        ({"HTTPS": ""}, "runserver", True),
        ({}, "demo", False),
        ({"HTTPS": "on"}, "demo", False),
    ],
)
def test_https_is_demanded_except_where_there_is_none(site, environment, command, is_https):
    assert site.setting(HTTPS_SETTINGS, command, **environment) == str((is_https,) * 4)


def test_debug_is_off_unless_asked_for(site):
    assert site.setting("s.DEBUG") == "False"
    assert site.setting("s.DEBUG", "demo") == "False"
    assert site.setting("s.DEBUG", DEBUG="1") == "True"


def test_hosts(site):
    assert site.setting("s.ALLOWED_HOSTS") == "['localhost', '127.0.0.1', '[::1]']"
    assert site.setting("s.ALLOWED_HOSTS", ALLOWED_HOSTS="a.example,b.example") == "['a.example', 'b.example']"
    assert "127.0.0.1" in site.setting("s.ALLOWED_HOSTS", "demo", ALLOWED_HOSTS="a.example")


def test_sqlite_waits_instead_of_failing_also_when_it_is_chosen_by_url(site):
    options = "sorted(s.DATABASES['default']['OPTIONS'].items())"
    expected = [
        ("init_command", "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"),
        ("timeout", 20),
        ("transaction_mode", "IMMEDIATE"),
    ]

    assert site.setting(options) == str(expected)
    assert site.setting(options, DATABASE_URL=f"sqlite:///{site.folder}/other.sqlite3") == str(expected)


def test_another_database(site):
    url = "postgres://me:secret@db.example:5433/site"
    names = "[s.DATABASES['default'][key] for key in ('ENGINE', 'NAME', 'HOST', 'PORT')]"

    assert site.setting(names, DATABASE_URL=url) == "['django.db.backends.postgresql', 'site', 'db.example', 5433]"
    assert site.setting("'init_command' in s.DATABASES['default'].get('OPTIONS', {})", DATABASE_URL=url) == "False"


def test_the_job_settings_come_from_the_environment_and_only_those_that_are_set(site):
    environment = {"JOBS_THREADS": "8", "JOBS_QUEUES": "fast,slow", "JOBS_AUTOSTART": "off", "JOBS_POLL_SECONDS": ""}

    assert site.setting("s.JOBS") == "{}"
    assert site.setting("s.JOBS", **environment) == "{'AUTOSTART': False, 'THREADS': 8, 'QUEUES': ['fast', 'slow']}"


def test_the_demo_starts_its_scheduler_itself(site):
    assert site.setting("s.JOBS", "demo", JOBS_AUTOSTART="on") == "{'AUTOSTART': False}"


def test_every_job_setting_can_be_set():
    assert set(settings.JOBS_READERS) == {field.name for field in fields(Settings)}


def test_a_number_that_is_none_is_named(site):
    assert "JOBS_THREADS must be a number, got 'many'." in site.setting("s.JOBS", JOBS_THREADS="many")


def test_a_file_beside_manage_py_is_read_and_the_environment_comes_first(site):
    (site.folder / ".env").write_text("TIME_ZONE=Europe/Berlin\nLOG_LEVEL=debug\n")

    assert site.setting("s.TIME_ZONE, s.LOGGING['root']['level']") == "('Europe/Berlin', 'DEBUG')"
    assert site.setting("s.TIME_ZONE", TIME_ZONE="Asia/Tokyo") == "Asia/Tokyo"
