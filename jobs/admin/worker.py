"""Workers: who is there."""

from django.contrib import admin

from jobs.admin.common import HistoryAdmin, moment
from jobs.models import Worker


@admin.register(Worker)
class WorkerAdmin(HistoryAdmin):
    list_display = ("id", "name", "kind", "state", "threads", "serves", "last_beat", "started", "stopped")
    last_beat = moment("beat_at", "last sign of life")
    started = moment("started_at", "started")
    stopped = moment("stopped_at", "stopped")
    list_filter = ("state", "kind")

    @admin.display(description="queues")
    def serves(self, worker):
        return worker.queues or "all"
