"""How the site stands: is anybody working, what waits and for how long, what failed lately."""

from datetime import timedelta

from django.db.models import Count, Max, Min

from jobs.conf import get_settings
from jobs.core import clock
from jobs.core.states import UNFINISHED, State
from jobs.lifecycle.database import alias
from jobs.models import Queue, Run, Worker

RECENT = timedelta(hours=1)


def status() -> dict:
    """The state of the site as JSON values. Every number comes from an index range of unfinished or recent rows.

    `is_working` is whether a worker gave a sign of life within LOST_AFTER_SECONDS by the wall clock: good enough to
    be shown and watched; who is dead is decided by `core.liveness` alone.
    """
    last_beat_at = _all(Worker).aggregate(last=Max("beat_at"))["last"]
    workers = [_worker(each) for each in _all(Worker).filter(state__in=Worker.PRESENT).order_by("id")]
    queues = _queues()
    return {
        "is_working": any(worker["is_alive"] for worker in workers),
        "last_beat_seconds_ago": None if last_beat_at is None else _age(last_beat_at),
        "runs": _counts(),
        "failed_last_hour": _all(Run).filter(state=State.FAILED, finished_at__gte=clock.now() - RECENT).count(),
        "oldest_waiting_seconds": max((queue["oldest_waiting_seconds"] for queue in queues), default=0.0),
        "queues": queues,
        "workers": workers,
    }


def _all(model):
    return model.objects.using(alias())


def _counts() -> dict[str, int]:
    found = _all(Run).filter(state__in=sorted(UNFINISHED)).values_list("state").annotate(Count("id"))
    return dict.fromkeys(map(str, sorted(UNFINISHED)), 0) | dict(found.order_by())


def _queues() -> list[dict]:
    paused = dict(_all(Queue).filter(is_paused=True).values_list("name", "paused_reason"))
    waiting = _all(Run).filter(state=State.QUEUED).values("queue").annotate(queued=Count("id"), since=Min("ready_at"))
    return [
        {
            "name": row["queue"],
            "is_paused": row["queue"] in paused,
            "paused_reason": paused.get(row["queue"], ""),
            "queued": row["queued"],
            "oldest_waiting_seconds": _age(row["since"]),
        }
        for row in waiting.order_by("queue")
    ]


def is_anybody_working() -> bool:
    """Whether a worker is alive that will start runs."""
    return any(is_alive(worker) for worker in _all(Worker).filter(state__in=Worker.PRESENT))


def is_alive(worker: Worker) -> bool:
    """Whether the worker gave a sign of life within LOST_AFTER_SECONDS by the wall clock."""
    return worker.state in Worker.PRESENT and _silence(worker) <= get_settings().LOST_AFTER_SECONDS


def _silence(worker: Worker) -> float:
    return _age(worker.beat_at or worker.started_at)


def _worker(worker: Worker) -> dict:
    return {
        "id": worker.pk,
        "name": worker.name,
        "kind": worker.kind,
        "state": worker.state,
        "threads": worker.threads,
        "queues": worker.queues,
        "last_beat_seconds_ago": _silence(worker),
        "is_alive": is_alive(worker),
    }


def _age(moment) -> float:
    return max(0.0, round((clock.now() - moment).total_seconds(), 3))
