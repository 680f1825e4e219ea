"""Jobs: definitions that operators edit and start."""

from django import forms
from django.contrib import admin, messages
from django.urls import reverse
from django.utils.html import format_html

from jobs.admin.common import GuardedAdmin, pretty_json
from jobs.core import clock
from jobs.errors import JobsError
from jobs.lifecycle import enqueue_job
from jobs.models import Job
from jobs.registry import registry


class JobForm(forms.ModelForm):
    """Only registered task functions can be chosen; the parameters are checked against the function's signature."""

    task = forms.ChoiceField(label="task function")

    class Meta:
        model = Job
        fields = (
            "name", "description", "task", "arguments_json", "is_enabled", "priority", "queue", "on_lost", "max_losses",
            "unique_key",
        )  # fmt: skip
        widgets = {"arguments_json": forms.Textarea(attrs={"rows": 4})}
        help_texts = {"arguments_json": 'A JSON object, e.g. {"day": "2026-11-01"}; {} for none.'}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if "task" in self.fields:  # it is not for those who may only look
            choices = [(task.name, f"{task.label} ({task.name})") for task in registry]
            if self.instance.task and self.instance.task not in registry:
                choices.append((self.instance.task, f"{self.instance.task} (not registered)"))
            self.fields["task"].choices = [("", "---------"), *choices]


@admin.register(Job)
class JobAdmin(GuardedAdmin):
    form = JobForm
    list_display = ("name", "task", "priority", "queue", "is_enabled")
    list_filter = ("is_enabled",)
    search_fields = ("name", "task")
    readonly_fields = ("parameters",)
    actions = ("run_now", "enable", "disable")

    def get_fields(self, request, obj=None):
        """Who may only look sees the parameters masked, or, without the permission to see them, not at all."""
        if obj is None or self.has_change_permission(request, obj):
            return JobForm.Meta.fields
        shown = ("parameters",) if request.user.has_perm("jobs.view_arguments") else ()
        return tuple(name for name in JobForm.Meta.fields if name != "arguments_json") + shown

    @admin.display(description="parameters")
    def parameters(self, job):
        return pretty_json(job.arguments)

    def has_run_permission(self, request):
        return request.user.has_perm("jobs.run_job")

    def save_model(self, request, obj, form, change):
        obj.updated_at = clock.now()
        obj.created_at = obj.created_at or obj.updated_at
        super().save_model(request, obj, form, change)

    @admin.action(description="Run the selected jobs now", permissions=["run"])
    def run_now(self, request, queryset):
        for job in queryset:
            try:
                run = enqueue_job(job, actor=request.user)
            except JobsError as error:
                self.message_user(request, f"{job.name}: {error}", messages.ERROR)
            else:
                link = reverse("admin:jobs_run_change", args=[run.pk])
                what = "is" if run.is_new else "was already"
                self.message_user(request, format_html('<a href="{}">{}</a> {} {}.', link, run, what, run.state))

    @admin.action(description="Enable the selected jobs", permissions=["change"])
    def enable(self, request, queryset):
        self._set_enabled(request, queryset, True)

    @admin.action(description="Disable the selected jobs", permissions=["change"])
    def disable(self, request, queryset):
        self._set_enabled(request, queryset, False)

    def _set_enabled(self, request, queryset, is_enabled: bool) -> None:
        word = "enabled" if is_enabled else "disabled"
        for job in queryset.exclude(is_enabled=is_enabled):
            job.is_enabled, job.updated_at = is_enabled, clock.now()
            job.save(update_fields=["is_enabled", "updated_at"])
            self.log_change(request, job, f"{word.capitalize()}.")
        self.message_user(request, f"The selected jobs are {word}.", messages.SUCCESS)
