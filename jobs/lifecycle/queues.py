"""Queues that people pause and resume. A worker enters no paused queue; what already runs goes on."""

from django.db import transaction

from jobs.core import clock
from jobs.lifecycle import audit
from jobs.lifecycle.database import alias, connection
from jobs.lifecycle.notify import wake_on_commit
from jobs.models import Job, Queue
from jobs.options import check_options
from jobs.registry import registry

REASON_LENGTH = Queue._meta.get_field("paused_reason").max_length


def pause(name: str, *, reason: str = "", actor=None, note: str = "") -> Queue:
    """Let no run of the queue `name` start until it is resumed, and return its row.

    `reason`, at most 200 characters, is shown beside everything that waits there. Workers obey within POLL_SECONDS.
    Paused again, it keeps the last reason. Raises ValueError for what is no name of a queue and for a longer reason.
    """
    check_options({"queue": name}, allowed=("queue",))
    if len(reason) > REASON_LENGTH:
        raise ValueError(f"A reason has at most {REASON_LENGTH} characters, got {len(reason)}.")
    _, by = audit.identify(actor)
    changes = {"is_paused": True, "paused_reason": reason, "paused_by_name": by, "paused_at": clock.now()}
    with transaction.atomic(using=alias()):
        queue, _ = Queue.objects.using(alias()).update_or_create(name=name, defaults=changes)
        audit.record("pause", queue, actor=actor, note=note or reason)
    return queue


def resume(name: str, *, actor=None, note: str = "") -> bool:
    """Let runs of the queue start again; whether it was paused."""
    changes = {"is_paused": False, "paused_reason": "", "paused_by_name": "", "paused_at": None}
    with transaction.atomic(using=alias()):
        paused = Queue.objects.using(alias()).select_for_update().filter(name=name, is_paused=True).first()
        if paused is None:
            return False
        Queue.objects.using(alias()).filter(pk=paused.pk).update(**changes)
        audit.record("resume", paused, actor=actor, note=note)
        wake_on_commit(connection(), name)
    return True


def known_queues() -> list[str]:
    """The names of the queues that somebody has named: a list of all that history has seen would read all of it."""
    named = {task.options.queue for task in registry}
    named.update(Job.objects.using(alias()).exclude(queue="").values_list("queue", flat=True))
    named.update(Queue.objects.using(alias()).values_list("name", flat=True))
    return sorted(named)
