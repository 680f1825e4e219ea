"""What the tests of the admin share: addresses, actions, messages, forms as browsers send them, runs in any state."""

from html.parser import HTMLParser

from django.contrib.messages import get_messages
from django.urls import reverse

from jobs.core import clock
from jobs.core.states import FINAL, State
from jobs.models import Run, Schedule, Worker
from tests import tasks


def url(model: str, page: str = "changelist", *args) -> str:
    return reverse(f"admin:jobs_{model}_{page}", args=args)


def act(client, model: str, action: str, *objects, **more):
    """Send what the list page sends when an action is chosen for some rows, or what a hand-made POST would."""
    data = {"action": action, "_selected_action": [each.pk for each in objects], "index": 0, **more}
    return client.post(url(model), data)


def told(response) -> list[str]:
    """The messages that this answer leaves for the person."""
    return [str(message) for message in get_messages(response.wsgi_request)]


def page(client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


class FormReader(HTMLParser):
    """Reads what a browser would send for the fields of a page, if nobody touched them."""

    def __init__(self, html: str):
        super().__init__()
        self.sent: dict[str, list[str]] = {}
        self._select = self._textarea = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        name, value = attributes.get("name"), attributes.get("value") or ""
        if tag == "select":
            self._select, self._first = attributes, None
        elif tag == "option" and self._select is not None:
            self._read_option("selected" in attributes, value)
        elif tag == "textarea":
            self._textarea, self._text = name, ""
        elif tag == "input" and name and attributes.get("type") not in ("submit", "checkbox", "radio"):
            self._send(name, value)
        elif tag == "input" and name and "checked" in attributes:
            self._send(name, attributes.get("value", "on"))

    def handle_data(self, data):
        if self._textarea:
            self._text += data

    def handle_endtag(self, tag):
        if tag == "textarea" and self._textarea:
            text = self._text.removeprefix("\r").removeprefix("\n")
            self._send(self._textarea, text.replace("\r\n", "\n").replace("\n", "\r\n"))
            self._textarea = None
        elif tag == "select" and self._select is not None:
            name = self._select.get("name")
            if name not in self.sent and "multiple" not in self._select and self._first is not None:
                self._send(name, self._first)
            self._select = None

    def _read_option(self, is_selected: bool, value: str) -> None:
        if is_selected:
            self._send(self._select["name"], value)
        elif self._first is None:
            self._first = value

    def _send(self, name: str, value: str) -> None:
        self.sent.setdefault(name, []).append(value)


def filled_in(html: str) -> dict[str, list[str]]:
    """What a browser sends for the page as it is, without the fields of the chrome around it."""
    ours = FormReader(html).sent
    return {name: values for name, values in ours.items() if name not in ("csrfmiddlewaretoken", "next", "action")}


def job_fields(task: str = "tests.tasks.admin_greet", *, shown_for: str | None = None, **changes) -> dict:
    """What the form of a job sends, with the fields of its function shown. Parameters are named `parameter__…` here."""
    fields = {"name": "Greeting", "task": task, "is_enabled": "on", "parameters_of": shown_for or task}
    if task == "tests.tasks.admin_greet":
        fields |= {"parameter-name": "Ada", "parameter-times": "1", "parameter-options": ""}
    return fields | {name.replace("parameter__", "parameter-"): value for name, value in changes.items()}


def make_worker(**columns) -> Worker:
    now = clock.now()
    given = {"name": "host:1", "host": "host", "pid": 1, "kind": "web", "executor": "threads", "threads": 4}
    return Worker.objects.create(**given | {"beat_at": now, "started_at": now} | columns)


def make_run(state: State = State.QUEUED, **columns) -> Run:
    """A stored run of `admin_greet` that stands in this state, with these columns."""
    run = tasks.admin_greet.enqueue("Ada")
    if state in FINAL:
        columns = {"started_at": clock.now(), "finished_at": clock.now()} | columns
    if state == State.RUNNING:
        columns = {"started_at": clock.now(), "worker_id": make_worker().pk, "claim_no": 1} | columns
    Run.objects.filter(pk=run.pk).update(state=state.value, **columns)
    run.refresh_from_db()
    return run


def schedule_fields(**changes) -> dict:
    """What the form of a schedule sends. Parameters are named `parameter__…` here."""
    fields = {
        "name": "Nightly", "is_enabled": "on", "kind": "cron", "expression": "30 2 * * *", "interval_seconds": "",
        "time_zone": "Europe/Berlin", "anchor_at": "", "starts_at": "", "ends_at": "", "misfire": "once",
        "misfire_limit": "10", "lateness_seconds": "", "overlap": "skip", "jitter_seconds": "00:00:00",
    }  # fmt: skip
    return fields | {name.replace("parameter__", "parameter-"): value for name, value in changes.items()}


def make_schedule(job, **columns) -> Schedule:
    """A stored schedule of a job, every night by the clock of Berlin or as the columns say."""
    rule = {"kind": "cron", "expression": "30 2 * * *", "time_zone": "Europe/Berlin"}
    return Schedule.objects.create(**{"job": job} | rule | columns)
