"""Audit entries: who did what."""

from django.contrib import admin

from jobs.admin.common import HistoryAdmin, moment
from jobs.models import AuditEntry


@admin.register(AuditEntry)
class AuditEntryAdmin(HistoryAdmin):
    at_shown = moment("at", "at")
    list_display = ("at_shown", "actor_name", "verb", "object_type", "object_name", "note")
    list_filter = ("verb", "object_type")
    search_fields = ("actor_name__startswith", "object_name__startswith")
