"""Audit entries: who did what."""

import json

from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.utils.html import format_html

from jobs.admin.common import AnnotatedList, HistoryAdmin, moment, preformatted
from jobs.admin.submit import page_of
from jobs.models import AuditEntry, Job, Queue, Run, Schedule
from jobs.parameters import mask

VERBS = (
    "add", "backfill", "cancel", "change", "delete", "disable", "enable", "enqueue", "pause", "resume", "run",
    "run again",
)  # fmt: skip
MODELS = {model._meta.model_name: model for model in (Job, Queue, Run, Schedule)}


class _FixedFilter(admin.SimpleListFilter):
    """A filter whose choices are known: a list of all that the audit log has ever seen would read all of it."""

    choices_known: tuple[str, ...]

    def lookups(self, request, model_admin):
        return [(each, each) for each in self.choices_known]

    def queryset(self, request, queryset):
        return queryset if self.value() is None else queryset.filter(**{self.parameter_name: self.value()})


class VerbFilter(_FixedFilter):
    title = parameter_name = "verb"
    choices_known = VERBS


class ObjectFilter(_FixedFilter):
    title = "kind of object"
    parameter_name = "object_type"
    choices_known = tuple(MODELS)


@admin.register(AuditEntry)
class AuditEntryAdmin(HistoryAdmin):
    list_display = ("at_shown", "actor_name", "verb", "object_type", "object", "note", "details")
    list_display_links = ("at_shown",)
    list_filter = (VerbFilter, ObjectFilter)
    search_fields = ("actor_name__startswith", "object_name__startswith")
    search_help_text = "The beginning of a person's or an object's name."
    fields = readonly_fields = (
        "at_shown", "actor_name", "actor_key", "verb", "object_type", "object_id", "object", "note", "all_details",
    )  # fmt: skip
    at_shown = moment("at", "at")

    def get_changelist(self, request, **kwargs):
        return AnnotatedList

    def get_object(self, request, object_id, from_field=None):
        entry = super().get_object(request, object_id, from_field)
        if entry is not None:
            self.annotate_page(request, [entry])
        return entry

    def annotate_page(self, request, entries) -> None:
        """See which objects are still there and open to this person: one query for each kind of object."""
        found = set()
        for name, model in MODELS.items():
            keys = {entry.object_id for entry in entries if entry.object_type == name}
            if keys and self._is_open(request, model):
                rows = model._default_manager.filter(pk__in=[key for key in keys if key.isdecimal()])
                found |= {(name, str(key)) for key in rows.order_by().values_list("pk", flat=True)}
        for entry in entries:
            entry.has_object = (entry.object_type, entry.object_id) in found

    def _is_open(self, request, model) -> bool:
        try:
            return self.admin_site.get_model_admin(model).has_view_permission(request)
        except NotRegistered:
            return False

    @admin.display(description="object", ordering="object_name")
    def object(self, entry):
        shown = entry.object_name or entry.object_id
        if not entry.has_object:
            return shown
        row = MODELS[entry.object_type](pk=entry.object_id)
        return format_html('<a href="{}">{}</a>', page_of(row), shown)

    @admin.display(description="details")
    def details(self, entry):
        return ", ".join(f"{name}: {_in_words(value)}" for name, value in _details(entry).items()) or "-"

    @admin.display(description="details")
    def all_details(self, entry):
        return preformatted(self.details(entry))


def _details(entry: AuditEntry) -> dict:
    """What was noted, secrets masked; empty if somebody has put something else there by SQL."""
    try:
        details = json.loads(entry.details_json or "{}")
    except ValueError:
        return {}
    return mask(details) if isinstance(details, dict) else {}


def _in_words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
