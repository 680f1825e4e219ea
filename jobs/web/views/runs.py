"""The list of runs, and one run with what can be done to it."""

from django.contrib import messages
from django.shortcuts import redirect
from django.utils import timezone

from jobs import access
from jobs.access import demand
from jobs.core.states import WAITING, State
from jobs.lifecycle import CancelAnswer, NotFinished, run_again
from jobs.lifecycle import cancel as cancel_run
from jobs.lifecycle.explain import still_running, why_waiting
from jobs.models import Job, Run, Worker
from jobs.registry import registry
from jobs.submission import NOTE_LENGTH, PRESS, PRESS_LENGTH, new_press, stored_arguments
from jobs.web import missed, timeline
from jobs.web.listing import FilterForm, list_runs
from jobs.web.pages import find_run, page, render, sent_text
from jobs.web.schedules import schedule_of

ANSWERS = {
    CancelAnswer.CANCELLED: (messages.SUCCESS, "The run is cancelled and will not start."),
    CancelAnswer.REQUESTED: (messages.SUCCESS, "The run was asked to end. Until its function does, it runs."),
    CancelAnswer.FINISHED: (messages.WARNING, "Too late to cancel: the run has ended."),
}  # fmt: skip


@page()
def run_list(request):
    form = FilterForm(request.GET, request.user)
    listing = list_runs(request.user, form.given, sent_text(request.GET, "after")) if form.is_valid() else None
    query = request.GET.copy()
    query.pop("after", None)
    context = {"form": form, "listing": listing, "query": query.urlencode(), "is_first": "after" not in request.GET}
    return render(request, "run_list.html", context)


@page()
def run_detail(request, run_id):
    run = find_run(request, run_id)
    attempt = request.GET.get("attempt", "")
    number = int(attempt) if attempt.isdecimal() and len(attempt) < 10 else max(1, run.executions)
    context = _about(request, run) | _log(request, run, after=0, attempt=number) | {"attempt": number}
    return render(request, "run_detail.html", context)


@page()
def run_live(request, run_id):
    return render(request, "parts/run_live.html", _about(request, find_run(request, run_id)))


@page()
def run_log(request, run_id):
    run = find_run(request, run_id)
    demand(access.sees_values(request.user))
    after = request.GET.get("after", "")
    number = int(after) if after.isdecimal() and len(after) < 19 else 0
    return render(request, "parts/run_log.html", _log(request, run, after=number, attempt=max(1, run.executions)))


def _about(request, run: Run) -> dict:
    """Everything but the log."""
    attempts = list(run.attempts.order_by("number", "id"))
    return {
        "run": run,
        "attempts": attempts,
        "events": timeline.events(run, attempts),
        "segments": timeline.segments(run, attempts),
        "why_waiting": why_waiting(run) if run.state in WAITING else [],
        "worker": Worker.objects.using(run._state.db).filter(pk=run.worker_id).first() if run.worker_id else None,
        "arguments": stored_arguments(run),
        "has_job": Job.objects.using(run._state.db).filter(pk=run.job_id).exists() if run.job_id else False,
        "has_origin": access.visible_runs(request.user).filter(pk=run.rerun_of_id).exists(),
        "repetitions": access.visible_runs(request.user).filter(rerun_of_id=run.pk).only("state").order_by("id")[:20],
        "still_running": still_running(run),
        "may_cancel": access.may_cancel(request.user, run) and run.can_be_cancelled,
        "may_run_again": access.may_run_again(request.user, run) and run.is_finished,
        "is_known": run.task in registry,
        "is_running": run.state == State.RUNNING,
        **_origin_of_slot(run),
        "note_length": NOTE_LENGTH,
        "press": new_press(),
    }


def _origin_of_slot(run: Run) -> dict:
    """Of which schedule it is, by the clock of which zone, and which slots it stands for that were not run."""
    schedule = schedule_of(run)
    zone = schedule.time_zone if schedule else timezone.get_current_timezone_name()
    return {"schedule": schedule, "zone": zone, "missed": missed.of_run(run)}


def _log(request, run: Run, *, after: int, attempt: int) -> dict:
    """What an attempt has logged since a piece, if this person may see it. More comes while the run is unfinished."""
    if not access.sees_values(request.user):
        return {}
    chunks = list(run.log_chunks.filter(attempt=attempt, pk__gt=after).order_by("id").values_list("pk", "text"))
    return {
        "run": run,
        "log": "".join(text for _, text in chunks),
        "last_chunk": chunks[-1][0] if chunks else after,
        "is_log_open": not run.is_finished and attempt >= run.executions,
    }


def _note(request) -> str:
    return sent_text(request.POST, "note", NOTE_LENGTH)


@page("POST")
def cancel(request, run_id):
    run = find_run(request, run_id)
    demand(access.may_cancel(request.user, run))
    level, text = ANSWERS[cancel_run(run, actor=request.user, note=_note(request))]
    messages.add_message(request, level, text)
    return redirect("jobs:run", run_id)


@page("POST")
def again(request, run_id):
    run = find_run(request, run_id)
    demand(access.may_run_again(request.user, run))
    try:
        press = sent_text(request.POST, PRESS, PRESS_LENGTH)
        copy = run_again(run, press=press, actor=request.user, note=_note(request))
    except NotFinished as error:
        messages.warning(request, str(error))
        return redirect("jobs:run", run_id)
    if not (copy.is_new or copy.is_of_earlier_press):
        messages.warning(request, f"Not repeated: run {copy.pk} is unfinished and holds its unique key.")
    return redirect("jobs:run", copy.pk)
