"""What the command `demo` does: data, a login, and runs whose order shows that priority is kept."""

import errno
import secrets
import socket
import time
from contextlib import suppress

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command

from config import private_file, tasks
from jobs.core.states import FINAL, State
from jobs.lifecycle import JobDisabled, enqueue_job
from jobs.models import Job, Run
from jobs.runtime import scheduler

USERNAME = "demo"
# Name, task function, priority (lower starts sooner); enqueued in this order, which is not the order of priority.
DEFINITIONS = (
    ("Daily report", tasks.daily_report, 10),
    ("Fraud alert", tasks.fraud_alert, 1),
    ("User data backfill", tasks.user_backfill, 5),
    ("Always fails", tasks.always_fails, 7),
)
START_SECONDS = 60  # an earlier demo's run may have to end before this one's first run gets the only thread
LOOK_SECONDS = 0.05


class DemoError(Exception):
    """The demo cannot go on; the message says what to do."""


def check_port(host: str, port: int) -> None:
    """Raise DemoError unless a server can listen there. Asked first, so that nothing is enqueued in vain."""
    try:
        _listen_for_a_moment(host, port)
    except (OSError, OverflowError) as error:
        is_busy = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "it is in use by another program" if is_busy else str(error)
        raise DemoError(
            f"Cannot listen on port {port} of {host}: {reason}. "
            "Stop the other program, or choose another port: python manage.py demo --port 8001"
        ) from error


def _listen_for_a_moment(host: str, port: int) -> None:
    family, kind, protocol, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address[0], port, *address[2:]))
        listener.listen()


def prepare() -> str:
    """Make tables, login and jobs where they are missing, and return the password of the user `demo`."""
    call_command("migrate", interactive=False, verbosity=0)
    password = ensure_login()
    for name, task, priority in DEFINITIONS:
        Job.objects.get_or_create(
            name=name, defaults={"task": task.name, "priority": priority, "description": task.help}
        )
    return password


def ensure_login() -> str:
    """See to it that `demo` is a superuser and can log in; the password that works.

    It is the one kept from the first start, until somebody has changed the user's password: then it is a new one.
    """
    path = settings.VAR_DIR / "demo_password"
    password = private_file.read_or_create(path, _new_password)
    user = get_user_model().objects.filter(username=USERNAME).first() or get_user_model()(username=USERNAME)
    if not user.check_password(password):
        if user.pk:
            password = _new_password()
            private_file.replace(path, password)
        user.set_password(password)
    user.is_active = user.is_staff = user.is_superuser = True
    user.save()
    return password


def _new_password() -> str:
    return secrets.token_urlsafe(12)


def enqueue_runs() -> list[Run]:
    """Keep the only thread busy, and enqueue a run of every job of the demo meanwhile."""
    # The most urgent priority: what an earlier demo left unfinished comes after it.
    warm_up = tasks.import_transactions.using(priority=-100).enqueue()
    _wait_until_started(warm_up)
    runs = [warm_up]
    for name, _, _ in DEFINITIONS:
        with suppress(JobDisabled):  # somebody disabled it in the admin
            runs.append(enqueue_job(Job.objects.get(name=name), note="Started by the demo"))
    return runs


def _wait_until_started(run: Run) -> None:
    deadline = time.monotonic() + START_SECONDS
    while _state(run) not in FINAL | {State.RUNNING}:
        if scheduler.current().refusal:
            raise DemoError(scheduler.current().refusal)
        if time.monotonic() > deadline:
            raise DemoError(
                f"The first run has not started within {START_SECONDS} seconds. Another process may be working on "
                "the same database; look at the workers in the admin."
            )
        time.sleep(LOOK_SECONDS)


def _state(run: Run) -> str:
    return Run.objects.values_list("state", flat=True).get(pk=run.pk)


def wait_until_finished(runs: list[Run]) -> list[Run]:
    """The runs as they are when all of them have ended, in the order in which they started."""
    while True:
        now = list(Run.objects.filter(pk__in=[run.pk for run in runs]).order_by("started_at", "pk"))
        if all(run.state in FINAL for run in now):
            return now
        time.sleep(LOOK_SECONDS)
