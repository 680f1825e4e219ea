"""The command `demo`: what it prepares, what it refuses, and a whole start and stop of it."""

import re
import signal
import socket
from contextlib import contextmanager
from http.cookiejar import CookieJar
from io import StringIO
from queue import Queue
from threading import Thread
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from django.contrib.auth import authenticate, get_user_model

from config import demo
from config.management.commands.demo import Command
from jobs.models import Job
from jobs.runtime import scheduler


@pytest.fixture
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return tmp_path


def is_superuser(password) -> bool:
    user = authenticate(username="demo", password=password)
    return bool(user and user.is_staff and user.is_superuser)


@pytest.mark.django_db
class TestPrepare:
    def test_twice_is_as_good_as_once(self, var):
        first = demo.prepare()
        jobs = set(Job.objects.values_list("pk", "name", "task", "priority"))
        second = demo.prepare()

        assert first == second
        assert is_superuser(second)
        assert {job[1:] for job in jobs} == {
            ("Daily report", "config.tasks.daily_report", 10),
            ("Fraud alert", "config.tasks.fraud_alert", 1),
            ("User data backfill", "config.tasks.user_backfill", 5),
            ("Always fails", "config.tasks.always_fails", 7),
        }
        assert set(Job.objects.values_list("pk", "name", "task", "priority")) == jobs

    def test_what_a_visitor_changed_is_kept(self, var):
        demo.prepare()
        Job.objects.filter(name="Daily report").update(priority=-3)
        demo.prepare()

        assert Job.objects.get(name="Daily report").priority == -3

    def test_a_changed_password_is_replaced_by_one_that_works(self, var):
        first = demo.prepare()
        user = get_user_model().objects.get(username="demo")
        user.set_password("something else")
        user.save()
        second = demo.prepare()

        assert first != second
        assert is_superuser(second)
        assert demo.prepare() == second

    def test_a_lost_password_file_is_no_lost_login(self, var):
        demo.prepare()
        (var / "demo_password").unlink()

        assert is_superuser(demo.prepare())

    def test_a_user_who_lost_the_rights_gets_them_back(self, var):
        demo.prepare()
        get_user_model().objects.filter(username="demo").update(is_active=False, is_superuser=False, is_staff=False)

        assert is_superuser(demo.prepare())


@pytest.fixture
def port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_a_busy_port_is_told_before_anything_is_done(site):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        code, output = site.manage("demo", "--port", str(port))

    assert code == 1
    assert f"port {port} of 127.0.0.1: it is in use by another program" in output
    assert not (site.var / "db.sqlite3").exists()


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 8000), ("127.0.0.1", 70000)])
def test_an_impossible_address_is_told(host, port):
    with pytest.raises(demo.DemoError, match=f"port {port} of {host}"):
        demo.check_port(host, port)


def test_the_most_urgent_run_starts_first_and_a_failure_stops_nobody(site):
    code, output = site.manage("demo", "--no-serve")

    assert code == 0, output
    assert re.findall(r"^    (\S.*): (succeeded|failed)$", output, re.MULTILINE) == [
        ("Import transactions", "succeeded"),
        ("Fraud alert", "succeeded"),
        ("User data backfill", "succeeded"),
        ("Always fails", "failed"),
        ("Daily report", "succeeded"),
    ]
    assert len(list((site.var / "reports").glob("*.csv"))) == 30


def test_a_scheduler_that_refuses_to_start_says_why(site):
    """The order keys in the database were made for another ageing."""
    site.manage("migrate")
    site.manage("runscheduler", "--drain")
    code, output = site.manage("demo", "--no-serve", JOBS_AGEING_SECONDS="600")

    assert code == 1
    assert re.search(r"^CommandError: .*rekeyruns", output, re.MULTILINE)


@contextmanager
def running(site, *arguments):
    """A started manage.py and a function that waits for a line of its output."""
    process = site.start(*arguments, PYTHONUNBUFFERED="1")
    lines, seen = Queue(), []

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def wait_for(pattern: str) -> str:
        while (line := lines.get(timeout=60)) is not None:
            seen.append(line)
            if match := re.search(pattern, line):
                return match[match.lastindex or 0]
        raise AssertionError(f"It ended without {pattern!r}. It printed:\n{''.join(seen)}")

    Thread(target=read, daemon=True).start()
    try:
        yield process, wait_for
    finally:
        process.kill()
        process.wait()


def log_in(address: str, password: str) -> str:
    """The page of `address` as the user `demo` sees it."""
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    form = browser.open(address, timeout=30).read().decode()
    fields = dict(re.findall(r'name="(csrfmiddlewaretoken|next)" value="([^"]*)"', form))
    login = re.sub(r"(//[^/]*).*", r"\1/admin/login/", address)
    data = urlencode(fields | {"username": "demo", "password": password}).encode()
    return browser.open(login, data, timeout=30).read().decode()


def test_it_serves_until_it_is_stopped_and_starts_again_on_the_same_data(site, port):
    passwords = []
    for stop in (signal.SIGINT, signal.SIGTERM):
        with running(site, "demo", "--port", str(port)) as (process, wait_for):
            address = wait_for(r"Watch them: +(\S+)")
            passwords.append(wait_for(r"Password: +(\S+)"))
            wait_for("Quit the server")

            page = log_in(address, passwords[-1])
            process.send_signal(stop)

            assert "Fraud alert" in page
            assert process.wait(timeout=60) == 0
    assert passwords[0] == passwords[1]


@pytest.mark.parametrize("signal_error", [KeyboardInterrupt, SystemExit])
def test_a_second_signal_does_not_wait_for_what_runs(monkeypatch, signal_error):
    given = []

    def stop(grace_seconds=None):
        given.append(grace_seconds)
        if grace_seconds is None:
            raise signal_error

    monkeypatch.setattr(scheduler, "stop", stop)
    Command(stdout=StringIO()).stop()

    assert given == [None, 0]
