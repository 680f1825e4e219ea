"""Queues: pause and resume them, and see what waits there."""

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.core.exceptions import ValidationError
from django.db.models import Count

from jobs.access import all_runs
from jobs.admin.common import AnnotatedList, GuardedAdmin, moment
from jobs.admin.signs import state_badge
from jobs.core.states import WAITING
from jobs.lifecycle import known_queues, pause, resume
from jobs.lifecycle.queues import REASON_LENGTH
from jobs.models import Queue
from jobs.options import check_options
from jobs.submission import Datalist


class PauseForm(forms.ModelForm):
    """Pause a queue by its name, whether there is a row of it already or not."""

    class Meta:
        model = Queue
        fields = ("name", "paused_reason")
        labels = {"paused_reason": "Reason"}
        help_texts = {"paused_reason": "Shown beside everything that waits there."}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if "name" in self.fields:  # it is not for those who may only look
            self.fields["name"].widget = Datalist(known_queues())

    def clean_name(self):
        try:
            check_options({"queue": self.cleaned_data["name"]}, allowed=("queue",))
        except ValueError as error:
            raise ValidationError(str(error)) from None
        return self.cleaned_data["name"]

    def validate_unique(self):
        """One that is there already is paused."""


class ReasonForm(ActionForm):
    """The form above the list: an action, and why."""

    reason = forms.CharField(
        label="Reason", required=False, widget=forms.TextInput({"maxlength": REASON_LENGTH, "class": "vTextField"})
    )


@admin.register(Queue)
class QueueAdmin(GuardedAdmin):
    """What people decided about queues. A queue that nobody has paused needs no row and has none."""

    form = PauseForm
    action_form = ReasonForm
    list_display = ("name", "state", "waiting", "reason", "by", "since")
    list_filter = ("is_paused",)
    search_fields = ("name__startswith",)
    ordering = ("name",)
    actions = ("pause_selected", "resume_selected")
    readonly_fields = ("state", "reason", "by", "since")
    since = moment("paused_at", "since")

    def get_changelist(self, request, **kwargs):
        return AnnotatedList

    def annotate_page(self, request, queues) -> None:
        """Count the runs that wait in each queue of the page, in one query."""
        waiting = all_runs().filter(state__in=sorted(WAITING), queue__in=[queue.name for queue in queues])
        counts = dict(waiting.values_list("queue").annotate(Count("id")).order_by())
        for queue in queues:
            queue.waiting_count = counts.get(queue.name, 0)

    @admin.display(description="state")
    def state(self, queue):
        return state_badge("paused" if queue.is_paused else "open")

    @admin.display(description="runs that wait")
    def waiting(self, queue):
        return queue.waiting_count

    @admin.display(description="reason")
    def reason(self, queue):
        return queue.paused_reason or "-"

    @admin.display(description="by")
    def by(self, queue):
        return queue.paused_by_name or "-"

    def add_view(self, request, form_url="", extra_context=None):
        return super().add_view(request, form_url, {"title": "Pause a queue", **(extra_context or {})})

    def get_fields(self, request, obj=None):
        return PauseForm.Meta.fields if obj is None else ("name", "state", "reason", "by", "since")

    def has_change_permission(self, request, obj=None):
        return False  # a queue is paused and resumed, not edited

    def has_delete_permission(self, request, obj=None):
        return False

    def has_pause_permission(self, request):
        return request.user.has_perm("jobs.change_queue")

    def save_model(self, request, obj, form, change):
        obj.pk = pause(obj.name, reason=obj.paused_reason, actor=request.user).pk

    @admin.action(description="Pause the selected queues", permissions=["pause"])
    def pause_selected(self, request, queryset):
        try:
            for queue in queryset:
                pause(queue.name, reason=request.POST.get("reason", ""), actor=request.user)
                self.log_change(request, queue, "Paused.")
        except ValueError as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            self.message_user(request, "The selected queues are paused.", messages.SUCCESS)

    @admin.action(description="Resume the selected queues", permissions=["pause"])
    def resume_selected(self, request, queryset):
        for queue in queryset:
            if resume(queue.name, actor=request.user, note=request.POST.get("reason", "")):
                self.log_change(request, queue, "Resumed.")
        self.message_user(request, "The selected queues are open.", messages.SUCCESS)
