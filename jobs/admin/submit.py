"""The page on which a job is run, or a run repeated, with parameters and options of one's own."""

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods

from jobs.access import may_see
from jobs.admin.forms import fieldset_of, parameter_fieldset
from jobs.models import Job, Run
from jobs.submission import StoredParameters, Submission

NOT_SHOWN = "The stored parameters are used as they are. To see and change them, you need another permission."


shown_and_posted = require_http_methods(["GET", "HEAD", "POST"])


def posted(request: HttpRequest):
    """What was sent; None if the page is only looked at."""
    return request.POST if request.method == "POST" else None


def page_of(row: Job | Run) -> str:
    return reverse(f"admin:jobs_{row._meta.model_name}_change", args=[row.pk])


def refused(model_admin: ModelAdmin, request: HttpRequest, row: Job | Run, text: str) -> HttpResponse:
    """Back to the page of the row, with the reason."""
    model_admin.message_user(request, text, messages.ERROR)
    return redirect(page_of(row))


def submission_page(
    model_admin: ModelAdmin, request: HttpRequest, row: Job | Run, submission: Submission, *, title: str
) -> HttpResponse:
    """Show the forms of a submission, or store the run that they ask for and lead to it."""
    run = submission.submit(request.user) if request.method == "POST" else None
    if run is not None:
        _tell(model_admin, request, row, run)
        return redirect(page_of(run if may_see(request.user, run) and _is_open(model_admin, request) else row))
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "media": model_admin.media,
        "title": title,
        "subtitle": str(row),
        "original": row,
        "has_view_permission": True,
        "back": page_of(row),
        "errors": submission.parameters.errors or submission.options.errors,
        "problems": submission.parameters.non_field_errors(),
        "fieldsets": _fieldsets(submission),
        "press": submission.press,
    }
    return TemplateResponse(request, "admin/jobs/submission.html", context)


def _fieldsets(submission: Submission) -> list:
    parameters, options = submission.parameters, fieldset_of(submission.options, "This run")
    if isinstance(parameters, StoredParameters):
        return [fieldset_of(parameters, "Parameters", format_html("<p>{}</p>", NOT_SHOWN)), options]
    return [parameter_fieldset(parameters, submission.task), options]


def _is_open(model_admin: ModelAdmin, request: HttpRequest) -> bool:
    """Whether this person may open the pages of runs in this admin."""
    return model_admin.admin_site.get_model_admin(Run).has_view_permission(request)


def _tell(model_admin: ModelAdmin, request: HttpRequest, row: Job | Run, run: Run) -> None:
    if run.is_new or run.is_of_earlier_press:
        model_admin.message_user(request, f"{run} is {run.state}.", messages.SUCCESS)
    else:
        text = f"Nothing was stored: {run} is {run.state} and holds this unique key."
        model_admin.message_user(request, text, messages.WARNING)
