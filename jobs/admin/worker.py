"""Workers: who is there."""

from django.contrib import admin

from jobs.admin.common import HistoryAdmin
from jobs.models import Worker


@admin.register(Worker)
class WorkerAdmin(HistoryAdmin):
    list_display = ("id", "name", "kind", "state", "threads", "serves", "beat_at", "started_at", "stopped_at")
    list_filter = ("state", "kind")

    @admin.display(description="queues")
    def serves(self, worker):
        return worker.queues or "all"
