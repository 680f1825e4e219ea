"""What the tests of the pages share: rows in any state, all tables, and pages taken apart."""

import json
from datetime import timedelta
from html.parser import HTMLParser

from django.apps import apps
from django.contrib.messages import get_messages
from django.urls import reverse

from jobs.core import clock
from jobs.core.states import FINAL, State
from jobs.models import Job, Run, Schedule, Worker
from tests.lifecycle.support import stored

TASK = "tests.tasks.admin_greet"


def url(name: str, *args, **query) -> str:
    return reverse(f"jobs:{name}", args=args, query=query or None)


def all_permissions() -> list[str]:
    """The codenames of all permissions of the app."""
    return [
        codename
        for model in apps.get_app_config("jobs").get_models()
        for codename in (
            *(f"{action}_{model._meta.model_name}" for action in model._meta.default_permissions),
            *(codename for codename, _ in model._meta.permissions),
        )
    ]


def make_run(state=State.QUEUED, *, by=None, **columns) -> Run:
    """A run of `admin_greet` in this state, with these columns, that the person `by` has submitted."""
    now = clock.now()
    if state in FINAL:
        columns = {"started_at": now, "finished_at": now} | columns
    if state == State.RUNNING:
        columns = {"started_at": now, "claim_no": 1} | columns
    if by is not None:
        columns = {"submitted_by_key": str(by.pk), "submitted_by_name": by.get_username()} | columns
    return stored(**{"state": state, "task": TASK, "arguments_json": '{"name":"Ada"}'} | columns)


def make_job(name: str = "Greeting", **columns) -> Job:
    return Job.objects.create(**{"name": name, "task": TASK, "arguments_json": '{"name":"Ada"}'} | columns)


def make_schedule(job: Job, expression: str = "0 3 * * *", **columns) -> Schedule:
    return Schedule.objects.create(**{"job": job, "kind": "cron", "expression": expression} | columns)


def make_worker(*, beat_ago: float = 0, **columns) -> Worker:
    now = clock.now()
    given = {"name": "host:1", "host": "host", "pid": 1, "kind": "web", "executor": "threads", "threads": 4}
    given |= {"beat_at": now - timedelta(seconds=beat_ago), "started_at": now}
    return Worker.objects.create(**given | columns)


def submitted(**changes) -> dict:
    """What the form of a run of `admin_greet` sends. Parameters are named `parameter__…`, options `run__…` here."""
    fields = {"parameter-name": "Ada", "parameter-times": "1", "parameter-options": ""}
    fields |= {"run-priority": "4", "run-queue": "default"}
    return fields | {name.replace("__", "-", 1): value for name, value in changes.items()}


def tables(app: str | None = None) -> dict:
    """Every row of every table, to see that nothing has changed."""
    models = apps.get_app_config(app).get_models() if app else apps.get_models()
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}


def told(response) -> list[str]:
    """The messages that this answer leaves for the person."""
    return [str(message) for message in get_messages(response.wsgi_request)]


def failed_with(message: str, **columns) -> Run:
    reason = json.dumps({"error_class": "ValueError", "message": message})
    return make_run(State.FAILED, reason_code="function_raised", reason_json=reason, **columns)


class Page(HTMLParser):
    """A page taken apart: its elements with their attributes, its text, its links and its forms."""

    def __init__(self, html: str):
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.pieces: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.pieces).split())

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def skeleton(self) -> list[tuple]:
        """The names of all elements and their attributes: what no text may ever add to."""
        return [(tag, tuple(attributes)) for tag, attributes in self.elements]

    @property
    def links(self) -> set[str]:
        return {attributes["href"] for attributes in self.all("a")}

    @property
    def posted_to(self) -> set[str]:
        return {each.get("action", "") for each in self.all("form") if each.get("method") == "post"}

    def by_id(self, element_id: str) -> dict:
        (found,) = [attributes for _, attributes in self.elements if attributes.get("id") == element_id]
        return found


def opened(client, address: str, status: int = 200) -> Page:
    response = client.get(address)
    assert response.status_code == status, (address, response.status_code)
    return Page(response.content.decode())


def schedule_sent(**changes: str) -> dict:
    """What the form of a schedule sends: every day at three in Berlin. Parameters are left to the job."""
    fields = {"name": "", "is_enabled": "on", "kind": "cron", "expression": "0 3 * * *", "interval_seconds": ""}
    fields |= {"time_zone": "Europe/Berlin", "anchor_at": "", "starts_at": "", "ends_at": "", "jitter_seconds": ""}
    fields |= {"misfire": "once", "misfire_limit": "10", "lateness_seconds": "", "overlap": "skip", "note": ""}
    return fields | changes
