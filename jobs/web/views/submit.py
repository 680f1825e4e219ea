"""Choose a function, fill in its form, watch the run."""

from django.contrib import messages
from django.http import Http404
from django.shortcuts import get_object_or_404, redirect

from jobs import access, submission
from jobs.access import demand
from jobs.errors import NotRegistered
from jobs.models import Job
from jobs.registry import registry
from jobs.web.pages import find_run, page, render


@page(permission="run_job")
def choose(request):
    return render(request, "submit.html", {"tasks": list(registry)})


@page("GET", "HEAD", "POST", permission="run_job")
def run_task(request, task_name):
    if task_name not in registry:
        raise Http404("There is no registered function of this name.")
    task = registry.get(task_name)
    return _fill_in(request, submission.of_task(task, _data(request)), {"heading": f"Run {task.label}"})


@page("GET", "HEAD", "POST", permission="run_job")
def run_job(request, job_id):
    demand(request.user.has_perm("jobs.view_job"))
    job = get_object_or_404(Job, pk=job_id)
    try:
        form = submission.of_job(job, _data(request), sees_values=access.sees_values(request.user))
    except (NotRegistered, ValueError) as error:
        messages.error(request, str(error))
        return redirect("jobs:job", job_id)
    return _fill_in(request, form, {"heading": f"Run {job.name}", "job": job})


@page("GET", "HEAD", "POST")
def edit_run(request, run_id):
    run = find_run(request, run_id)
    demand(access.may_run_again(request.user, run) and access.sees_values(request.user))
    if not run.is_finished:
        messages.warning(request, f"Run {run.pk} is still {run.state}: it can be run again once it has ended.")
        return redirect("jobs:run", run_id)
    try:
        form = submission.of_run(run, _data(request))
    except NotRegistered as error:
        messages.error(request, str(error))
        return redirect("jobs:run", run_id)
    return _fill_in(request, form, {"heading": f"Run {run} again", "old_run": run})


def _data(request):
    return request.POST if request.method == "POST" else None


def _fill_in(request, form: submission.Submission, context: dict):
    run = form.submit(request.user) if request.method == "POST" else None
    if run is None:
        status = 422 if request.method == "POST" else 200
        return render(request, "run_form.html", {"form": form, **context}, status=status)
    if not (run.is_new or run.is_of_earlier_press):
        messages.warning(request, f"Nothing was stored: run {run.pk} is unfinished and holds this unique key.")
    if access.may_see(request.user, run):
        return redirect("jobs:run", run.pk)
    return redirect("jobs:runs")
