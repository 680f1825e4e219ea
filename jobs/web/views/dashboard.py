"""The first page: is anybody working, what waits, what runs, what failed."""

from jobs import access
from jobs.core.states import State
from jobs.lifecycle.status import status
from jobs.web.pages import page, render

FEW = 10
TILES = (State.QUEUED, State.RUNNING, State.SCHEDULED, State.BLOCKED)
RUN_COLUMNS = (
    "task", "job_name", "state", "reason_code", "reason_json", "queue", "priority", "started_at", "finished_at",
    "progress_done", "progress_total", "progress_message",
)  # fmt: skip


@page()
def dashboard(request):
    runs = access.visible_runs(request.user).only(*RUN_COLUMNS)
    context = {
        "running": runs.filter(state=State.RUNNING.value).order_by("order_key", "id")[:FEW],
        "failures": runs.filter(state=State.FAILED.value).order_by("-finished_at", "-id")[:FEW],
        "status": _status() if access.sees_all(request.user) else None,
    }
    return render(request, "dashboard.html", context)


def _status() -> dict:
    """The state of the site, and what the page draws of it."""
    now = status()
    working = [worker for worker in now["workers"] if worker["is_alive"]]
    most = max((queue["queued"] for queue in now["queues"]), default=1)
    queues = [queue | {"percent": 100 * queue["queued"] / most} for queue in now["queues"]]
    threads = sum(worker["threads"] for worker in working)
    tiles = [(state.value, now["runs"][state]) for state in TILES]
    return now | {"tiles": tiles, "working": working, "threads": threads, "queues": queues}
