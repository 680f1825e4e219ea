"""What comes in the next 24 hours, and what should have come and did not."""

from django.utils import timezone

from jobs import access
from jobs.core import clock
from jobs.web import upcoming as slots
from jobs.web.hours import change_marks, day_marks, hour_marks
from jobs.web.missed import MOST as MOST_MISSED
from jobs.web.missed import lately_missed
from jobs.web.pages import page, render


@page(permission="view_schedule")
def upcoming(request):
    period = slots.Period(clock.now())
    context = _axis(period) | _due(request, period)
    context |= _cut("problems", slots.with_problems(), slots.MOST_PROBLEMS)
    if access.sees_all(request.user):
        context |= _cut("missed", lately_missed(), MOST_MISSED)
    return render(request, "upcoming.html", context)


def _axis(period: slots.Period) -> dict:
    zone = timezone.get_current_timezone()
    return {
        "period": period,
        "zone": timezone.get_current_timezone_name(),
        "hours": hour_marks(period, zone),
        "days": day_marks(period, zone),
        "changes": change_marks(period, zone),
    }


def _due(request, period: slots.Period) -> dict:
    schedules = slots.due_schedules(period)
    shown = list(schedules[: slots.MOST_ROWS])
    rows = slots.rows_of(shown, period)
    put_off = _cut("put_off", slots.put_off_runs(request.user, period), slots.MOST_TICKS)
    entries = slots.entries_of(rows, put_off["put_off"])
    return put_off | {
        "rows": rows,
        "put_off_ticks": slots.ticks((run.due_at for run in put_off["put_off"]), period),
        "hidden": schedules.count() - len(shown),
        "entries": entries[: slots.MOST_LISTED],
        "unlisted": len(entries[slots.MOST_LISTED :]),
    }


def _cut(name: str, found: list, most: int) -> dict:
    """What was found, without the one that tells that there is more."""
    return {name: found[:most], f"has_more_{name}": len(found) > most}
