"""Jobs: the list with the last results of each, and one job."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.shortcuts import get_object_or_404, redirect
from django.urls import NoReverseMatch, reverse

from jobs import access
from jobs.lifecycle import set_enabled
from jobs.lifecycle.enqueue import job_options
from jobs.lifecycle.history import last_results
from jobs.models import Job
from jobs.registry import registry
from jobs.submission import stored_arguments
from jobs.web.listing import COLUMNS
from jobs.web.pages import page, render, sent_text
from jobs.web.schedules import next_fires, page_of_job

JOBS_A_PAGE = 25
FEW = 10


@page(permission="view_job")
def job_list(request):
    jobs = Job.objects.order_by("name").defer("arguments_json")
    if search := sent_text(request.GET, "q").strip():
        jobs = jobs.filter(name__icontains=search)
    shown = Paginator(jobs, JOBS_A_PAGE).get_page(request.GET.get("page"))
    rows = [_row(job) for job in shown]
    if access.sees_all(request.user):
        results = last_results([job.pk for job in shown])
        for row in rows:
            row["results"] = results.get(row["job"].pk, [])
    if request.user.has_perm("jobs.view_schedule"):
        fires = next_fires([job.pk for job in shown if job.is_enabled])
        for row in rows:
            row["next_fire"] = fires.get(row["job"].pk)
    return render(request, "job_list.html", {"jobs": shown, "rows": rows, "search": search})


def _row(job: Job) -> dict:
    row = {"job": job, "task": registry.get(job.task) if job.task in registry else None, "options": None}
    if row["task"] is not None:
        try:
            row["options"] = job_options(job, row["task"].options)
        except ValueError as error:  # somebody else has written into the row
            row["problem"] = str(error)
    return row


@page(permission="view_job")
def job_detail(request, job_id):
    job = get_object_or_404(Job, pk=job_id)
    runs = access.visible_runs(request.user).filter(job_id=job.pk).order_by("-id").only(*COLUMNS)
    context = _row(job) | {
        "runs": runs[:FEW],
        "results": last_results([job.pk]).get(job.pk, []) if access.sees_all(request.user) else [],
        "arguments": stored_arguments(job),
        "admin_url": _admin_url(request, job),
    }
    if request.user.has_perm("jobs.view_schedule"):
        context["schedule_page"], context["schedules"] = page_of_job(job, request.user, request.GET.get("schedules"))
    return render(request, "job_detail.html", context)


def _admin_url(request, job: Job) -> str:
    """Where the job can be edited; empty without an admin or for who may not."""
    if not (request.user.is_staff and request.user.has_perm("jobs.change_job")):
        return ""
    try:
        return reverse("admin:jobs_job_change", args=[job.pk])
    except NoReverseMatch:
        return ""


@page("POST", permission="change_job")
def enable(request, job_id):
    return _set_enabled(request, job_id, True)


@page("POST", permission="change_job")
def disable(request, job_id):
    return _set_enabled(request, job_id, False)


def _set_enabled(request, job_id, is_enabled: bool):
    job = get_object_or_404(Job, pk=job_id)
    set_enabled(job, is_enabled, actor=request.user)
    messages.success(request, f"The job {job.name} is {'enabled' if is_enabled else 'disabled'}.")
    return redirect("jobs:job", job_id)
