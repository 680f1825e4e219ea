"""The ageing that all order keys of a site are made with. Two of them in one table would be no order at all."""

from datetime import timedelta

from django.db import IntegrityError, transaction

from jobs.conf import get_settings
from jobs.core import clock
from jobs.core.order import order_key
from jobs.core.states import UNFINISHED
from jobs.errors import JobsError
from jobs.lifecycle.database import alias
from jobs.lifecycle.workers import LONG_SILENT
from jobs.models import Run, SiteState, Worker

KEY = "ageing_microseconds"
BATCH = 1000


class AgeingMismatch(JobsError):
    """The stored order keys were made with another AGEING_SECONDS than this process has."""


class WorkersPresent(JobsError):
    """Order keys cannot be changed while workers are at work."""


def check_ageing() -> None:
    """Agree with the ageing in force, or, on a new site, put this process's in force. Raises AgeingMismatch."""
    mine = str(get_settings().ageing)
    stored = SiteState.objects.using(alias()).filter(pk=KEY).first() or _store_first(mine)
    if stored.value != mine:
        raise AgeingMismatch(
            f"The waiting runs are ordered with an ageing of {_words(stored.value)}, but this process is set to "
            f'{_words(mine)}. Set JOBS["AGEING_SECONDS"] as it was, or stop all workers and run `manage.py rekeyruns`.'
        )


def _store_first(value: str) -> SiteState:
    try:
        with transaction.atomic(using=alias()):
            return SiteState.objects.using(alias()).create(pk=KEY, value=value, updated_at=clock.now())
    except IntegrityError:  # another process came first
        return SiteState.objects.using(alias()).get(pk=KEY)


def _words(value: str) -> str:
    from jobs.core.order import STRICT_AGEING

    return "None (strict priority)" if int(value) == STRICT_AGEING else f"{int(value) / 1e6:g} seconds"


def rekey() -> int:
    """Give every unfinished run the order key of the ageing that is set now, and return how many there were.

    Raises WorkersPresent, with their names, while a worker is alive: it would claim by two orders at once. One that
    was killed counts as alive until its last sign of life is ten times LOST_AFTER_SECONDS old.
    """
    ageing = get_settings().ageing
    with transaction.atomic(using=alias()):
        heard_since = clock.now() - timedelta(seconds=LONG_SILENT * get_settings().LOST_AFTER_SECONDS)
        present = Worker.objects.using(alias()).filter(state__in=Worker.PRESENT, beat_at__gte=heard_since)
        if names := [worker.name for worker in present]:
            raise WorkersPresent(f"Stop these workers first: {', '.join(names)}.")
        count = 0
        unfinished = Run.objects.using(alias()).filter(state__in=sorted(UNFINISHED))
        for run in unfinished.only("effective_priority", "ready_at").iterator(BATCH):
            key = order_key(run.effective_priority, run.ready_at, ageing)
            count += Run.objects.using(alias()).filter(pk=run.pk).update(order_key=key)
        SiteState.objects.using(alias()).update_or_create(
            pk=KEY, defaults={"value": str(ageing), "updated_at": clock.now()}
        )
    return count
