"""The schedules of a job on its page: a list that leads to them."""

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest
from django.urls import reverse

from jobs.models import Job, Schedule

SHOWN = 20


def schedules_of(model_admin: ModelAdmin, request: HttpRequest, job: Job) -> dict:
    """What the template needs to show them, as far as this person may view and add schedules."""
    of_schedules = model_admin.admin_site.get_model_admin(Schedule)
    context = {}
    if of_schedules.has_view_permission(request):
        found = list(Schedule.objects.filter(job=job).order_by("pk")[: SHOWN + 1])
        address = f"{reverse('admin:jobs_schedule_changelist')}?job__id__exact={job.pk}"
        context |= {"schedules": found[:SHOWN], "all_schedules": address if len(found) > SHOWN else ""}
    if of_schedules.has_add_permission(request):
        context["add_schedule"] = f"{reverse('admin:jobs_schedule_add')}?job={job.pk}"
    return context
