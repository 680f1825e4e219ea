"""A real gunicorn that serves the site, and what a test does behind its back. Needs no browser."""

import os
import re
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.test import Client

from jobs.core.states import FINAL, State
from jobs.models import Run, Worker
from tests.processes.support import PATIENCE, Process, Site, wait_for_answer
from tests.runtime.support import wait_until

PASSWORD = "a quiet hill"
THREADS = 8


def forget_content_types(get_response):
    """Middleware for a server whose database is emptied, and filled anew with other numbers, while it runs."""

    def answer(request):
        ContentType.objects.clear_cache()
        return get_response(request)

    return answer


def start_gunicorn(site: Site, *options: str, **environment: str) -> tuple[Process, str]:
    """gunicorn as the site configures it, on a port that the system chooses, when it answers; and its address."""
    quiet = ("--access-logfile", os.devnull)
    command = ("-m", "gunicorn", "--config", "config/gunicorn.conf.py", *quiet, *options, "config.wsgi")
    process = site.start(*command, **{"BIND": "127.0.0.1:0", "SECRET_KEY": settings.SECRET_KEY} | environment)

    def address():
        assert not process.has_ended, process.output
        return re.search(r"Listening at: (http://[\d.]+:(\d+))", process.output)

    found = wait_until(address, PATIENCE)
    wait_for_answer(int(found[2]))
    return process, found[1]


def make_user(name: str, *permissions: str, is_superuser: bool = False) -> User:
    """A user with the password `PASSWORD` and these permissions of the app."""
    user = User.objects.create_user(name, password=PASSWORD, is_superuser=is_superuser, is_staff=is_superuser)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="jobs", codename__in=permissions))
    assert user.user_permissions.count() == len(permissions)
    return user


def session_of(user: User) -> str:
    """The cookie of a new session of this user."""
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


class Server:
    """A gunicorn with one worker process, whose scheduler has `THREADS` threads."""

    def __init__(self, folder: Path):
        self.site = Site(folder)

    def start(self) -> None:
        options = {"WEB_WORKERS": "1", "WEB_THREADS": "4", "JOBS_THREADS": str(THREADS)}
        settings_module = "tests.browser.settings_for_browser"
        self.process, self.url = start_gunicorn(self.site, DJANGO_SETTINGS_MODULE=settings_module, **options)

    def wait_for_worker(self) -> None:
        """Each test empties the database; a worker that misses its row comes back as a new one."""
        wait_until(lambda: Worker.objects.filter(state="alive").exists(), PATIENCE)

    def wait_until_it_has_looked(self) -> None:
        """Wait until the worker knows which queues are paused now; it looks more often than its heart beats."""
        worker = Worker.objects.get(state="alive")
        wait_until(lambda: Worker.objects.filter(pk=worker.pk, beats__gte=worker.beats + 2).exists(), PATIENCE)

    def let_go(self, run: int | Run, step: int | None = None) -> None:
        """Let this run of `count_sheep` go on to its end, or beyond one step."""
        number = getattr(run, "pk", run)
        self._gate(f"{number}" if step is None else f"{number}.{step}").touch()

    def come_to_rest(self) -> None:
        """Let all that waits or runs end."""
        self._gate("all").touch()
        for run in Run.objects.exclude(state__in=[*FINAL, State.RUNNING]):
            run.cancel()
        wait_until(lambda: not Run.objects.exclude(state__in=FINAL).exists(), PATIENCE)
        self._gate("all").unlink()

    def _gate(self, name: str) -> Path:
        return self.site.folder / f"marks.{name}"

    def end(self) -> None:
        self.site.end()
