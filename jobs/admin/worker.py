"""Workers: who is there."""

from django.contrib import admin

from jobs.admin.common import HistoryAdmin, moment
from jobs.admin.signs import state_badge
from jobs.models import Worker


@admin.register(Worker)
class WorkerAdmin(HistoryAdmin):
    list_display = (
        "id", "name", "state_shown", "problem", "last_beat", "kind", "threads", "serves", "host", "pid", "version",
        "started", "stopped",
    )  # fmt: skip
    list_display_links = ("id", "name")
    list_filter = ("state", "kind")
    fields = readonly_fields = (
        "name", "state_shown", "problem", "kind", "executor", "threads", "serves", "host", "pid", "version",
        "last_beat", "beats", "started", "stopped",
    )  # fmt: skip
    last_beat = moment("beat_at", "last sign of life")
    started = moment("started_at", "started")
    stopped = moment("stopped_at", "stopped")

    @admin.display(description="state", ordering="state")
    def state_shown(self, worker):
        return state_badge(worker.state)

    @admin.display(description="queues")
    def serves(self, worker):
        return worker.queues or "all"
