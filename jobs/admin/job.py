"""Jobs: definitions that operators edit and start."""

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.views.decorators.http import require_safe

from jobs import access, submission
from jobs.access import demand
from jobs.admin.common import pretty_json
from jobs.admin.enabling import EnablingAdmin
from jobs.admin.forms import parameter_fieldset
from jobs.admin.job_form import SHOWN_FOR, JobForm, parameters_form
from jobs.admin.schedules_of_job import schedules_of
from jobs.admin.submit import posted, refused, shown_and_posted, submission_page
from jobs.errors import JobsError, NotRegistered, ParameterError
from jobs.lifecycle import definitions, enqueue_job, set_enabled
from jobs.models import Job
from jobs.registry import registry


@admin.register(Job)
class JobAdmin(EnablingAdmin):
    class Media:
        js = ("jobs/admin.js",)

    form = JobForm
    list_display = ("name", "task", "priority", "queue", "is_enabled")
    list_filter = ("is_enabled",)
    search_fields = ("name", "task")
    readonly_fields = ("stored_parameters",)
    actions = ("run_now", "enable", "disable")
    set_enabled = staticmethod(set_enabled)
    delete = staticmethod(definitions.delete)

    def get_fields(self, request, obj=None):
        """Who may only look sees the parameters masked, or, without the permission to see them, not at all."""
        if self._edits(request, obj) or not access.sees_values(request.user):
            return JobForm.Meta.fields
        return (*JobForm.Meta.fields, "stored_parameters")

    def _edits(self, request, job: Job | None) -> bool:
        return self.has_add_permission(request) if job is None else self.has_change_permission(request, job)

    @admin.display(description="parameters")
    def stored_parameters(self, job):
        return pretty_json(submission.stored_arguments(job))

    def has_run_permission(self, request):
        return access.may_run(request.user)

    # Pages

    def get_urls(self):
        guarded = self.admin_site.admin_view
        return [
            path("parameters/", guarded(require_safe(self.parameters_view)), name="jobs_job_parameters"),
            path("<path:object_id>/run/", guarded(shown_and_posted(self.run_view)), name="jobs_job_run"),
            *super().get_urls(),
        ]

    def parameters_view(self, request):
        """The fields for the function that has just been chosen, for the page that asks for them."""
        number = request.GET.get("job", "")
        job = self.get_object(request, number) if number else None
        demand(self._edits(request, job))
        name = request.GET.get("task", "")
        context = _parameter_context(name, parameters_form(name, job), is_kept=job is not None)
        return TemplateResponse(request, "admin/jobs/job/parameters.html", context)

    def run_view(self, request, object_id):
        """Run a job with parameters and options of one's own."""
        demand(access.may_run(request.user) and self.has_view_permission(request))
        job = self.get_object(request, unquote(object_id))
        if job is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        try:
            forms = submission.of_job(job, posted(request), sees_values=access.sees_values(request.user))
        except (NotRegistered, ValueError) as error:
            return refused(self, request, job, str(error))
        if not job.is_enabled:
            return refused(self, request, job, f"The job {job.name} is disabled. Enable it before you run it.")
        return submission_page(self, request, job, forms, title="Run now")

    def render_change_form(self, request, context, add=False, change=False, form_url="", obj=None):
        form = context["adminform"].form
        if self._edits(request, obj):
            context |= _parameter_context(
                form.chosen, form.parameters, problems=form.problems, is_kept=form.is_bound or obj is not None
            )
        context["edits"] = self._edits(request, obj)
        context["may_run"] = obj is not None and self.has_run_permission(request)
        if obj is not None:
            context |= schedules_of(self, request, obj)
        return super().render_change_form(request, context, add, change, form_url, obj)

    # What is done to jobs

    def save_model(self, request, obj, form, change):
        fields = [name for name in form.changed_data if name != "arguments_json"]
        definitions.save(obj, fields=fields, parameters=form.changed_parameters, actor=request.user)

    @admin.action(description="Run the selected jobs now", permissions=["run"])
    def run_now(self, request, queryset):
        for job in queryset:
            try:
                run = enqueue_job(job, actor=request.user)
            except JobsError as error:
                self.message_user(request, f"{job.name}: {_without_values(error, request.user)}", messages.ERROR)
            else:
                link = reverse("admin:jobs_run_change", args=[run.pk])
                what = "is" if run.is_new else "was already"
                self.message_user(request, format_html('<a href="{}">{}</a> {} {}.', link, run, what, run.state))


def _without_values(error: JobsError, user) -> str:
    """What keeps a job from running; the values of its parameters only for those who may see them."""
    if isinstance(error, ParameterError) and not access.sees_values(user):
        return "its stored parameters do not fit the function"
    return str(error)


def _parameter_context(task_name: str, form, problems=(), is_kept: bool = False) -> dict:
    """What the template of the parameters needs. What a kept form shows stays when another function is chosen."""
    shown = parameter_fieldset(form, registry.get(task_name)) if form is not None else None
    return {
        "parameters": shown,
        "parameters_of": task_name,
        "parameters_of_field": SHOWN_FOR,
        "parameter_problems": problems,
        "is_kept": is_kept,
    }
