"""How the pages show states, times, durations and JSON."""

import json
from datetime import datetime, timedelta
from math import isfinite

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from jobs.core import clock
from jobs.core.texts import visible
from jobs.lifecycle.history import Result
from jobs.models import Run
from jobs.parameters import loads, mask
from jobs.preview import by_clock_of, zone_or_utc
from jobs.signs import sign_of

register = template.Library()


@register.filter
def sign(state: str) -> str:
    return sign_of(state)


@register.filter
def badge(state: str):
    """A state as sign and word."""
    return format_html(
        '<span class="state state-{}"><span aria-hidden="true">{}</span> {}</span>', state, sign(state), state
    )


@register.filter
def dots(results: list[Result]):
    """The last runs of a job as links. A page shows hundreds of them, for which a template is too slow."""
    markup = (
        '<a role="listitem" class="dot state-{state}" href="{address}" title="#{id}: {state}">'
        '<span aria-hidden="true">{sign}</span><span class="sr-only">{state}</span></a>'
    )
    return format_html_join(
        "",
        markup,
        ({"id": each.id, "state": each.state, "sign": sign(each.state), "address": _address(each)} for each in results),
    )


def _address(result: Result) -> str:
    return reverse("jobs:run", args=[result.id])


@register.filter
def moment(value: datetime | None):
    """A time to the second in the current time zone, with the zone and the exact time for who points at it."""
    return "-" if value is None else _shown_time(value, timezone.localtime(value))


@register.filter
def moment_in(value: datetime | None, zone_name: str):
    """A time to the second by the clock of this zone, with its name; in UTC if there is no such zone or time."""
    if value is None:
        return "-"
    local = by_clock_of(zone_or_utc(zone_name), value)
    return format_html('{} <span class="zone">{}</span>', _shown_time(value, local), local.tzinfo)


def _shown_time(value: datetime, local: datetime):
    shown = local.strftime("%Y-%m-%d %H:%M:%S")
    return format_html('<time datetime="{}" title="{}">{}</time>', value.isoformat(), local.isoformat(" "), shown)


@register.filter
def duration(value: timedelta | float | None) -> str:
    """A length of time in the two units that tell it best; numbers are seconds."""
    if value is None:
        return "-"
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not isfinite(seconds):  # in a row that somebody else has written
        return "-"
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


@register.filter
def pretty(value: object) -> str:
    """A JSON value in lines, with what is secret by its name masked."""
    return visible(json.dumps(mask({"": value})[""], indent=2, ensure_ascii=False))


@register.filter
def pretty_text(text: str) -> str:
    """A JSON text in lines, masked; as it is if somebody has made it no JSON."""
    try:
        return pretty(loads(text))
    except ValueError:
        return visible(text)


@register.filter
def amount(value: float) -> str:
    """A number as short as it can be told exactly."""
    return f"{value:.0f}" if abs(value) < 1e15 and value == round(value) else f"{value:g}"


@register.filter
def machine(value: float) -> str:
    """A number for an attribute, whatever the locale."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


@register.filter
def printable(text: str | None) -> str:
    """Any text as a page can hold it."""
    return visible(text or "")


@register.filter
def told(run: Run, sees_values: bool) -> str:
    """The reason of a run's state, as far as this person may know it."""
    return run.reason if sees_values else run.public_reason


@register.filter
def took(run: Run) -> timedelta | None:
    """How long an execution took, or has taken so far."""
    if run.started_at is None:
        return None
    return max(timedelta(0), (run.finished_at or clock.now()) - run.started_at)
