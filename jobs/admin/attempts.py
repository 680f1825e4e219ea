"""The executions of a run that did not succeed, on its page."""

from django.contrib import admin

from jobs.access import sees_values
from jobs.admin.common import moment, preformatted
from jobs.models import Attempt


class AttemptInline(admin.StackedInline):
    """What an exception said may hold values, so message and traceback are for those who may see values."""

    model = Attempt
    verbose_name_plural = "unsuccessful attempts"
    fields = readonly_fields = ("outcome", "error_class", "message_shown", "trace", "worker_name", "started", "ended")
    of_values = ("message_shown", "trace")
    started = moment("started_at", "started")
    ended = moment("ended_at", "ended")
    ordering = ("number", "id")
    extra = 0
    can_delete = False

    def get_fields(self, request, obj=None):
        if sees_values(request.user):
            return self.fields
        return [name for name in self.fields if name not in self.of_values]

    def has_add_permission(self, request, obj=None):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    @admin.display(description="message")
    def message_shown(self, attempt):
        return preformatted(attempt.message)

    @admin.display(description="traceback")
    def trace(self, attempt):
        return preformatted(attempt.traceback)
