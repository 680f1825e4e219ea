"""Runs: read-only history, with cancel and run again."""

import json
from collections import Counter

from django.contrib import admin, messages
from django.utils.html import format_html

from jobs.admin.common import HistoryAdmin, moment, preformatted, pretty_json
from jobs.core import clock
from jobs.core.states import FINAL
from jobs.lifecycle import CancelAnswer, NotFinished
from jobs.models import Attempt, Job, Queue, Run
from jobs.registry import registry

WIDE_COLUMNS = ("arguments_json", "result_json", "options_json")

ANSWERS = {
    CancelAnswer.CANCELLED: (messages.SUCCESS, "{} cancelled before the start."),
    CancelAnswer.RUNNING: (messages.WARNING, "{} left alone: only what waits can be cancelled, and a worker has it."),
    CancelAnswer.FINISHED: (messages.WARNING, "{} left alone: too late, it has ended."),
}  # fmt: skip


class QueueFilter(admin.SimpleListFilter):
    """The queues that somebody has named: a list of all that history has ever seen would read all of it."""

    title = parameter_name = "queue"

    def lookups(self, request, model_admin):
        named = {task.options.queue for task in registry}
        named.update(Job.objects.exclude(queue="").values_list("queue", flat=True))
        named.update(Queue.objects.values_list("name", flat=True))
        return [(name, name) for name in sorted(named)]

    def queryset(self, request, queryset):
        return queryset if self.value() is None else queryset.filter(queue=self.value())


class AttemptInline(admin.StackedInline):
    model = Attempt
    verbose_name_plural = "unsuccessful attempts"
    fields = readonly_fields = ("outcome", "error_class", "message", "trace", "worker_name", "started", "ended")
    started = moment("started_at", "started")
    ended = moment("ended_at", "ended")
    extra = 0
    can_delete = False

    def has_add_permission(self, request, obj=None):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    @admin.display(description="traceback")
    def trace(self, attempt):
        return preformatted(attempt.traceback)


@admin.register(Run)
class RunAdmin(HistoryAdmin):
    list_display = ("id", "what", "state", "priority", "progress", "started", "duration", "reason")
    list_display_links = ("id", "what")
    list_filter = ("state", QueueFilter)
    search_fields = ("job_name__startswith", "task__startswith")
    search_help_text = "The beginning of a job's or a task function's name."
    sortable_by = ("id",)  # no index serves another order, and history is long
    actions = ("cancel", "run_again")
    inlines = (AttemptInline,)
    readonly_fields = (
        "progress", "duration", "reason", "parameters", "result_shown", "log", "enqueued", "due", "started", "finished",
        "ready",
    )  # fmt: skip
    fieldsets = (
        (None, {"fields": ("task", "job_name", "state", "reason", "progress", "parameters", "result_shown", "log")}),
        ("Order", {"fields": ("priority", "queue", "ready", "order_key")}),
        ("Times", {"fields": ("enqueued", "due", "started", "finished", "duration")}),
        (
            "Executions",
            {"fields": ("worker_id", "claim_no", "failures", "losses", "interruptions", "on_lost", "max_losses")},
        ),
        ("Origin", {"fields": ("submitted_by_name", "rerun_of_id", "unique_key")}),
    )

    enqueued = moment("enqueued_at", "enqueued")
    ready = moment("ready_at", "ready")
    due = moment("due_at", "due")
    started = moment("started_at", "started")
    finished = moment("finished_at", "finished")

    def get_queryset(self, request):
        return super().get_queryset(request).defer(*WIDE_COLUMNS)

    def has_cancel_permission(self, request):
        return request.user.has_perm("jobs.cancel_run")

    def has_rerun_permission(self, request):
        return request.user.has_perm("jobs.rerun_run")

    def get_fieldsets(self, request, obj=None):
        if request.user.has_perm("jobs.view_arguments"):
            return self.fieldsets
        (title, first), *others = self.fieldsets
        shown = [name for name in first["fields"] if name not in ("parameters", "result_shown", "log")]
        return [(title, {"fields": shown}), *others]

    @admin.action(description="Cancel the selected runs that wait", permissions=["cancel"])
    def cancel(self, request, queryset):
        answers = Counter(run.cancel(actor=request.user) for run in queryset)
        for answer, count in answers.items():
            level, text = ANSWERS[answer]
            self.message_user(request, text.format(_runs(count)), level)

    @admin.action(description="Run the selected runs again", permissions=["rerun"])
    def run_again(self, request, queryset):
        unfinished = 0
        for run in queryset.order_by("id"):
            try:
                copy = run.run_again(actor=request.user)
            except NotFinished:
                unfinished += 1
            else:
                text = (
                    "Run {} runs again as {}." if copy.is_new else "Run {} was not repeated: {} holds its unique key."
                )
                self.message_user(request, format_html(text, run.pk, copy), messages.SUCCESS)
        if unfinished:
            text = f"{_runs(unfinished)} left alone: only what has ended can be run again."
            self.message_user(request, text, messages.WARNING)

    @admin.display(description="run", ordering="job_name")
    def what(self, run):
        if run.job_name or run.task not in registry:
            return run.job_name or run.task
        return registry.get(run.task).label

    @admin.display(description="progress")
    def progress(self, run):
        if run.progress_done is None:
            return "-"
        total = "" if run.progress_total is None else f" of {run.progress_total:g}"
        return f"{run.progress_done:g}{total} {run.progress_message}".strip()

    @admin.display(description="duration")
    def duration(self, run):
        if run.started_at is None:
            return "-"
        end = run.finished_at if run.state in FINAL else clock.now()
        return f"{max(0.0, (end - run.started_at).total_seconds()):.3f} s" if end else "-"

    @admin.display(description="reason")
    def reason(self, run):
        return run.reason or "-"

    @admin.display(description="parameters")
    def parameters(self, run):
        return pretty_json(run.arguments)

    @admin.display(description="result")
    def result_shown(self, run):
        return "-" if run.result_json is None else pretty_json(json.loads(run.result_json))

    @admin.display(description="log")
    def log(self, run):
        return preformatted("".join(run.log_chunks.order_by("id").values_list("text", flat=True)))


def _runs(count: int) -> str:
    return "1 run was" if count == 1 else f"{count} runs were"
