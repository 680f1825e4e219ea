"""Schedules: when jobs run by themselves."""

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.views.decorators.http import require_safe

from jobs import access
from jobs.access import demand
from jobs.admin.backfill import backfill_page
from jobs.admin.enabling import EnablingAdmin
from jobs.admin.forms import parameter_fieldset
from jobs.admin.schedule_columns import ScheduleColumns
from jobs.admin.submit import NOT_SHOWN, shown_and_posted
from jobs.lifecycle import delete_schedule, set_schedule_enabled
from jobs.models import Job, Schedule
from jobs.registry import registry
from jobs.schedule_form import TREATMENT, WHEN, ScheduleForm, preview_form

NOT_REGISTERED = "The job's function is not registered in this process: they stay as they are."

KEPT = ("problem_shown", "next_slot", "last_slot", "missed_count", "declared_in_code", "created", "updated")


class AdminScheduleForm(ScheduleForm):
    """The admin gives no row where one is added: it is one of `job`."""

    job: Job | None = None

    def __init__(self, data=None, files=None, instance=None, **options):
        super().__init__(data, files, instance=instance or Schedule(job=self.job), **options)


class ProblemFilter(admin.SimpleListFilter):
    title = parameter_name = "problem"

    def lookups(self, request, model_admin):
        return [("yes", "Yes"), ("no", "No")]

    def queryset(self, request, queryset):
        if self.value() == "yes":
            return queryset.exclude(problem="")
        return queryset.filter(problem="") if self.value() == "no" else queryset


@admin.register(Schedule)
class ScheduleAdmin(ScheduleColumns, EnablingAdmin):
    form = AdminScheduleForm
    list_display = (
        "schedule", "job", "rule", "is_enabled", "has_problem", "next_slot", "time_zone", "missed_count",
    )  # fmt: skip
    list_filter = ("is_enabled", ProblemFilter, "kind")
    list_select_related = ("job",)
    search_fields = ("name", "job__name")
    ordering = ("job__name", "id")
    readonly_fields = ("job", "parameters", *KEPT)
    actions = ("enable", "disable", "fill_in")
    set_enabled = staticmethod(set_schedule_enabled)
    delete = staticmethod(delete_schedule)

    def get_fieldsets(self, request, obj=None):
        sets = [
            (None, {"fields": ("name", "is_enabled") if obj is None else ("job", "name", "is_enabled")}),
            ("Rule", {"fields": WHEN, "classes": ("jobs-rule",)}),
            ("Its runs", {"fields": TREATMENT}),
            ("Whose parameters", self._about_parameters(request, obj)),
        ]
        return sets if obj is None else [*sets, ("So far", {"fields": KEPT})]

    def _about_parameters(self, request, schedule: Schedule | None) -> dict:
        """They are for those who may see values; the fields to edit them are in a form of their own."""
        if not access.sees_values(request.user):
            return {"fields": (), "description": NOT_SHOWN}
        if not self._edits(request, schedule):
            return {"fields": ("parameters",)}
        if _job_of(request, schedule).task not in registry:
            return {"fields": (), "description": NOT_REGISTERED}
        return {"fields": ("has_own_parameters",)}

    def get_form(self, request, obj=None, change=False, **options):
        sees_values = access.sees_values(request.user) and self._edits(request, obj)
        form = type("Form", (AdminScheduleForm,), {"job": _job_of(request, obj), "sees_values": sees_values})
        return super().get_form(request, obj, change, **{"form": form, **options})

    def _edits(self, request, schedule: Schedule | None) -> bool:
        return self.has_change_permission(request, schedule) if schedule else self.has_add_permission(request)

    def has_backfill_permission(self, request):
        return access.may_run(request.user)

    # Pages

    def get_urls(self):
        guarded = self.admin_site.admin_view
        backfill_view = guarded(shown_and_posted(self.backfill_view))
        return [
            path("preview/", guarded(require_safe(self.preview_view)), name="jobs_schedule_preview"),
            path("<path:object_id>/backfill/", backfill_view, name="jobs_schedule_backfill"),
            *super().get_urls(),
        ]

    def add_view(self, request, form_url="", extra_context=None):
        """First the job is chosen: the fields for the parameters are those of its function."""
        demand(self.has_add_permission(request))
        job = _chosen_job(request)
        if job is None:
            return self._choose_page(request)
        title = {"title": f"Add schedule of {job.name}"}
        return super().add_view(request, form_url, title | (extra_context or {}))

    def _choose_page(self, request):
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": "Add schedule",
            "jobs": Job.objects.values_list("pk", "name"),
        }
        return TemplateResponse(request, "admin/jobs/schedule/choose.html", context)

    def preview_view(self, request):
        """What becomes of the rule as it stands in the form, for the page that asks for it."""
        demand(self.has_add_permission(request) or self.has_change_permission(request))
        return TemplateResponse(
            request, "admin/jobs/schedule/preview.html", _preview_context(preview_form(request.GET))
        )

    def backfill_view(self, request, object_id):
        demand(self.has_view_permission(request) and access.may_run(request.user))
        schedule = self.get_object(request, unquote(object_id))
        if schedule is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        return backfill_page(self, request, schedule)

    def render_change_form(self, request, context, add=False, change=False, form_url="", obj=None):
        form = context["adminform"].form
        context |= _preview_context(form) | {
            "edits": self._edits(request, obj),
            "may_backfill": obj is not None and access.may_run(request.user),
        }
        if form.parameters is not None:
            task = registry.get(form.instance.job.task)
            context |= {
                "parameters": parameter_fieldset(form.parameters, task),
                "parameter_problems": form.problems,
            }
        return super().render_change_form(request, context, add, change, form_url, obj)

    # What is done to schedules

    def save_model(self, request, obj, form, change):
        form.save_as(request.user)

    @admin.action(description="Fill in past slots of the selected schedule", permissions=["backfill"])
    def fill_in(self, request, queryset):
        keys = list(queryset.values_list("pk", flat=True)[:2])
        if len(keys) == 1:
            return redirect("admin:jobs_schedule_backfill", keys[0])
        self.message_user(request, "Select one schedule only: each has slots of its own.", messages.ERROR)
        return None


def _chosen_job(request) -> Job | None:
    """The job that the address names."""
    number = request.GET.get("job", "")
    return Job.objects.filter(pk=number).first() if number.isascii() and number.isdigit() else None


def _job_of(request, schedule: Schedule | None) -> Job | None:
    return _chosen_job(request) if schedule is None else schedule.job


def _preview_context(form: ScheduleForm) -> dict:
    return {"preview": form.preview(), "rule_errors": form.rule_errors}
