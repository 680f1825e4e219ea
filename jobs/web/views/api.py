"""JSON: for monitoring, the state of one run, and when a rule fires."""

from django.http import JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs import access
from jobs.lifecycle.status import is_anybody_working, status
from jobs.models import Run
from jobs.parameters import loads, mask
from jobs.preview import SHOWN, preview_of
from jobs.schedule_form import preview_form
from jobs.submission import stored_arguments
from jobs.web.pages import find_run, page

MOST_TIMES = 100


@never_cache
@require_safe
def health(request):
    """Whether anybody works, 503 if nobody does: for monitoring, without a login, and with nothing about jobs."""
    is_working = is_anybody_working()
    return JsonResponse({"is_working": is_working}, status=200 if is_working else 503)


@page(permission="view_run")
def status_json(request):
    return JsonResponse(status())


@page(permission="view_schedule")
def fire_times(request):
    """When a rule fires next: the parts of its form, with TIME_ZONE where no zone is given. 422 tells what is wrong."""
    form = preview_form({"time_zone": timezone.get_default_timezone_name(), **request.GET.dict()})
    count = _count(request.GET.get("count", str(SHOWN)))
    errors = dict(form.rule_errors)
    if count is None:
        errors["count"] = [f"Expected a whole number from 1 to {MOST_TIMES}."]
    if errors:
        return JsonResponse({"errors": {name: " ".join(told) for name, told in errors.items()}}, status=422)
    return JsonResponse(preview_of(form.instance, count=count).as_json())


def _count(text: str) -> int | None:
    count = int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0
    return count if 1 <= count <= MOST_TIMES else None


@page()
def run_state(request, run_id):
    run = find_run(request, run_id)
    told = {
        "id": run.pk,
        "task": run.task,
        "job": run.job_name or None,
        "state": run.state,
        "is_finished": run.is_finished,
        "reason_code": run.reason_code,
        "reason": run.reason if access.sees_values(request.user) else run.public_reason,
        "queue": run.queue,
        "priority": run.priority,
        "order_key": str(run.order_key),  # beyond what a number of JavaScript holds exactly
        "attempt": run.attempt,
        "max_attempts": run.max_attempts,
        "timeout_seconds": run.timeout_seconds,
        "cancel_requested_at": run.cancel_requested_at,
        "enqueued_at": run.enqueued_at,
        "due_at": run.due_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "progress": {"done": run.progress_done, "total": run.progress_total, "message": run.progress_message},
    }
    if access.sees_values(request.user):
        told |= mask({"arguments": stored_arguments(run), "result": _result(run)})
    return JsonResponse(told)


def _result(run: Run) -> object:
    """The result as JSON; None if there is none, or somebody has made it no JSON."""
    try:
        return None if run.result_json is None else loads(run.result_json)
    except ValueError:
        return None
