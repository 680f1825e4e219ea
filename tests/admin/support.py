"""What the tests of the admin share: addresses, actions, messages, and runs in any state."""

from django.contrib.messages import get_messages
from django.urls import reverse

from jobs.core import clock
from jobs.core.states import FINAL, State
from jobs.models import Run, Worker
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
