"""Runs: read-only history, with cancel and run again."""

from collections import Counter

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.shortcuts import redirect
from django.urls import path
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from jobs import access, submission
from jobs.access import demand
from jobs.admin.attempts import AttemptInline
from jobs.admin.common import HistoryAdmin
from jobs.admin.run_columns import RunColumns
from jobs.admin.submit import page_of, posted, refused, shown_and_posted, submission_page
from jobs.core.states import FINAL
from jobs.errors import NotRegistered
from jobs.lifecycle import CancelAnswer, NotFinished, cancel, known_queues, run_again
from jobs.lifecycle.explain import still_running
from jobs.models import Run
from jobs.registry import registry

WIDE_COLUMNS = ("arguments_json", "result_json", "options_json")
OF_VALUES = ("parameters", "result_shown", "log")

EXECUTIONS = (
    "worker_id", "claim_no", "failures", "max_attempts", "losses", "max_losses", "interruptions", "snoozes", "on_lost",
    "timeout_seconds",
)  # fmt: skip

ANSWERS = {
    CancelAnswer.CANCELLED: (messages.SUCCESS, "{} cancelled before the start."),
    CancelAnswer.REQUESTED: (messages.SUCCESS, "{} asked to end, and shows as running until its function does."),
    CancelAnswer.FINISHED: (messages.WARNING, "{} left alone: too late, it has ended."),
}  # fmt: skip


class QueueFilter(admin.SimpleListFilter):
    """The queues that somebody has named: a list of all that history has ever seen would read all of it."""

    title = parameter_name = "queue"

    def lookups(self, request, model_admin):
        return [(name, name) for name in known_queues()]

    def queryset(self, request, queryset):
        return queryset if self.value() is None else queryset.filter(queue=self.value())


@admin.register(Run)
class RunAdmin(RunColumns, HistoryAdmin):
    list_display = ("id", "what", "state_shown", "full_reason", "progress", "priority", "queue", "started", "duration")
    list_display_links = ("id", "what")
    list_filter = ("state", QueueFilter)
    search_fields = ("job_name__startswith", "task__startswith")
    search_help_text = "The beginning of a job's or a task function's name."
    sortable_by = ("id",)  # no index serves another order, and history is long
    actions = ("cancel", "run_again")
    inlines = (AttemptInline,)
    readonly_fields = (
        "state_shown", "progress", "duration", "full_reason", "public_reason", "parameters", "result_shown", "log",
        "asked_to_end", "enqueued", "due", "started", "finished", "ready",
    )  # fmt: skip
    fieldsets = (
        (None, {"fields": ("task", "job_name", "state_shown", "full_reason", "progress", *OF_VALUES)}),
        ("Order", {"fields": ("priority", "queue", "ready", "order_key")}),
        ("Times", {"fields": ("enqueued", "due", "started", "asked_to_end", "finished", "duration")}),
        ("Executions", {"fields": EXECUTIONS}),
        ("Origin", {"fields": ("submitted_by_name", "rerun_of_id", "unique_key")}),
    )

    def get_queryset(self, request):
        return super().get_queryset(request).defer(*WIDE_COLUMNS)

    def get_ordering(self, request):
        """The newest first; among runs that ended alike the last to end, because an index serves that."""
        is_final = request.GET.get("state__exact") in FINAL
        return ("-finished_at", "-id") if is_final else ("-id",)

    def has_view_permission(self, request, obj=None):
        return access.sees_all(request.user)

    def has_cancel_permission(self, request):
        return request.user.has_perm("jobs.cancel_run")

    def has_rerun_permission(self, request):
        return request.user.has_perm("jobs.rerun_run")

    # What stems from values is for those who may see values

    def get_list_display(self, request):
        return self._as_far_as_allowed(request, self.list_display)

    def get_fieldsets(self, request, obj=None):
        (title, first), *others = self.fieldsets
        return [(title, {"fields": self._as_far_as_allowed(request, first["fields"])}), *others]

    def _as_far_as_allowed(self, request, names) -> list[str]:
        if access.sees_values(request.user):
            return list(names)
        shown = [name for name in names if name not in OF_VALUES]
        return ["public_reason" if name == "full_reason" else name for name in shown]

    # The buttons on the page of a run

    def get_urls(self):
        guarded = self.admin_site.admin_view
        return [
            path("<path:object_id>/cancel/", guarded(require_POST(self.cancel_view)), name="jobs_run_cancel"),
            path("<path:object_id>/again/", guarded(require_POST(self.again_view)), name="jobs_run_again"),
            path("<path:object_id>/edit/", guarded(shown_and_posted(self.edit_view)), name="jobs_run_edit"),
            *super().get_urls(),
        ]

    def render_change_form(self, request, context, add=False, change=False, form_url="", obj=None):
        may_repeat = access.may_run_again(request.user, obj) and obj.is_finished
        context |= {
            "may_cancel": access.may_cancel(request.user, obj) and obj.can_be_cancelled,
            "may_run_again": may_repeat,
            "may_edit": may_repeat and access.sees_values(request.user) and obj.task in registry,
            "note_length": submission.NOTE_LENGTH,
            "press": submission.new_press(),
            "still_running": still_running(obj),
        }
        return super().render_change_form(request, context, add, change, form_url, obj)

    def _find(self, request, object_id: str) -> Run | None:
        demand(self.has_view_permission(request))
        return self.get_object(request, unquote(object_id))

    def _missing(self, request, object_id: str):
        return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)

    def cancel_view(self, request, object_id):
        run = self._find(request, object_id)
        if run is None:
            return self._missing(request, object_id)
        demand(access.may_cancel(request.user, run))
        level, text = ANSWERS[cancel(run, actor=request.user, note=_note(request))]
        self.message_user(request, text.format("The run was"), level)
        return redirect(page_of(run))

    def again_view(self, request, object_id):
        run = self._find(request, object_id)
        if run is None:
            return self._missing(request, object_id)
        demand(access.may_run_again(request.user, run))
        try:
            press = request.POST.get(submission.PRESS, "")[: submission.PRESS_LENGTH]
            copy = run_again(run, press=press, actor=request.user, note=_note(request))
        except NotFinished as error:
            return refused(self, request, run, str(error))
        self._tell_repeated(request, run, copy)
        return redirect(page_of(copy))

    def edit_view(self, request, object_id):
        """Repeat a run with other parameters and options."""
        run = self._find(request, object_id)
        if run is None:
            return self._missing(request, object_id)
        demand(access.may_run_again(request.user, run) and access.sees_values(request.user))
        try:
            forms = submission.of_run(run, posted(request))
        except NotRegistered as error:
            return refused(self, request, run, str(error))
        if not run.is_finished:
            return refused(self, request, run, "Only what has ended can be run again.")
        return submission_page(self, request, run, forms, title="Run again")

    # The actions of the list

    @admin.action(description="Cancel the selected runs", permissions=["cancel"])
    def cancel(self, request, queryset):
        answers = Counter(cancel(run, actor=request.user) for run in queryset)
        for answer, count in answers.items():
            level, text = ANSWERS[answer]
            self.message_user(request, text.format(_runs(count)), level)

    @admin.action(description="Run the selected runs again", permissions=["rerun"])
    def run_again(self, request, queryset):
        unfinished = 0
        for run in queryset.order_by("id"):
            try:
                copy = run_again(run, actor=request.user)
            except NotFinished:
                unfinished += 1
            else:
                self._tell_repeated(request, run, copy)
        if unfinished:
            text = f"{_runs(unfinished)} left alone: only what has ended can be run again."
            self.message_user(request, text, messages.WARNING)

    def _tell_repeated(self, request, run: Run, copy: Run) -> None:
        is_repeated = copy.is_new or copy.is_of_earlier_press
        text = "Run {} runs again as {}." if is_repeated else "Run {} was not repeated: {} holds its unique key."
        level = messages.SUCCESS if is_repeated else messages.WARNING
        self.message_user(request, format_html(text, run.pk, copy), level)


def _note(request) -> str:
    return request.POST.get("note", "")[: submission.NOTE_LENGTH]


def _runs(count: int) -> str:
    return "1 run was" if count == 1 else f"{count} runs were"
