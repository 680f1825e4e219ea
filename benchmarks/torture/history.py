"""The history of all runs as the database has it in the end."""

from collections import defaultdict
from datetime import datetime

from benchmarks.torture.check import FINAL, PastAttempt, PastRun


def unfinished() -> int:
    from jobs.models import Run

    return Run.objects.exclude(state__in=FINAL).count()


def read() -> dict[int, PastRun]:
    from jobs.models import Attempt, Run

    attempts = defaultdict(list)
    for attempt in Attempt.objects.order_by("number", "pk"):
        attempts[attempt.run_id].append(PastAttempt(attempt.number, attempt.outcome, _nanoseconds(attempt.ended_at)))
    return {
        run.pk: PastRun(
            id=run.pk,
            state=run.state,
            on_lost=run.on_lost,
            unique_key=f"{run.task} {run.unique_key}" if run.unique_key else "",
            max_attempts=run.max_attempts,
            max_losses=run.max_losses,
            max_interruptions=run.max_interruptions,
            count=run.failures + run.losses + run.interruptions + run.snoozes,
            reason=run.reason_code,
            is_interruptible=run.task.endswith(".endless"),
            result=run.result,
            attempts=tuple(attempts[run.pk]),
        )
        for run in Run.objects.order_by("pk")
    }


def rows(run_id: int) -> list[str]:
    """The run and its attempts, column by column, for somebody who looks for the reason."""
    from jobs.models import Attempt, Run

    found = [*Run.objects.filter(pk=run_id).values(), *Attempt.objects.filter(run_id=run_id).order_by("pk").values()]
    return [
        ", ".join(f"{column}={str(value)!r}" for column, value in row.items() if value not in (None, ""))
        for row in found
    ]


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
