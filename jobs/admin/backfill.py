"""The page on which past slots of a schedule are filled in: it tells how many they are before it does so."""

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from jobs.admin.forms import fieldset_of
from jobs.admin.submit import page_of, posted
from jobs.backfill_form import BackfillForm
from jobs.models import Schedule


def backfill_page(model_admin: ModelAdmin, request: HttpRequest, schedule: Schedule) -> HttpResponse:
    """Show the form; count the slots; fill them in once these times have been counted, and lead to the schedule."""
    form = BackfillForm(schedule, posted(request))
    if (runs := form.submit(request.user)) is not None:
        model_admin.message_user(request, _told(len(runs)), messages.SUCCESS)
        return redirect(page_of(schedule))
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "media": model_admin.media,
        "title": "Fill in past slots",
        "subtitle": str(schedule),
        "original": schedule,
        "has_view_permission": True,
        "back": page_of(schedule),
        "form": form,
        "counted": _counted(form) if form.is_counted else "",
        "button": "Fill in" if form.is_counted else "Count the slots",
        "fieldset": fieldset_of(form, schedule.words),
    }
    return TemplateResponse(request, "admin/jobs/schedule/backfill.html", context)


def _counted(form: BackfillForm) -> str:
    slots, are_open = len(form.slots), len(form.open_slots)
    if not are_open:
        return f"{_slots(slots)}, and none of them without a run: there is nothing to fill in."
    have_runs = f", {slots - are_open:,} of them with a run already" if slots > are_open else ""
    return f"{_slots(slots)}{have_runs}: {'1 run' if are_open == 1 else f'{are_open:,} runs'} will be stored."


def _slots(count: int) -> str:
    return "1 slot" if count == 1 else f"{count:,} slots"


def _told(count: int) -> str:
    if not count:
        return "Nothing was stored: each of these slots has a run."
    return "1 run was stored." if count == 1 else f"{count:,} runs were stored."
