"""What the admin pages of the app share."""

import json
from collections.abc import Callable
from datetime import datetime

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html

from jobs.core.texts import visible
from jobs.parameters import mask

MOST_COUNTED = 10_000


class CappedPaginator(Paginator):
    """Counts no further than 10,000: an exact count reads the whole history. Filters lead to what lies beyond."""

    @cached_property
    def count(self):
        return self.object_list[:MOST_COUNTED].count()


class AnnotatedList(ChangeList):
    """A list page whose admin looks up more about the rows of the page, all at once: see `annotate_page`."""

    def get_results(self, request):
        super().get_results(request)
        self.result_list = list(self.result_list)
        self.model_admin.annotate_page(request, self.result_list)


class GuardedAdmin(admin.ModelAdmin):
    """Hand-made requests come no further than the pages: what is not offered is refused, what is hidden stays so."""

    class Media:
        css = {"all": ("jobs/admin.css",)}
        js = ("jobs/forms.js",)

    # They cannot be guessed through the filters of an address either.
    hidden_columns = ("arguments_json", "result_json", "options_json", "reason_json", "details_json")

    def lookup_allowed(self, lookup, value, request):
        column = lookup.partition("__")[0]
        return column not in self.hidden_columns and super().lookup_allowed(lookup, value, request)

    def changelist_view(self, request, extra_context=None):
        if set(request.POST.getlist("action")) - {"", *self.get_actions(request)}:
            raise PermissionDenied
        return super().changelist_view(request, extra_context)


class HistoryAdmin(GuardedAdmin):
    """Rows that tell what happened: nobody adds, edits or deletes them here."""

    paginator = CappedPaginator
    show_full_result_count = False
    ordering = ("-id",)
    list_per_page = 50

    def has_add_permission(self, request):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        return False


def _in_current_zone(value: datetime, row) -> str:
    return timezone.localtime(value).strftime("%Y-%m-%d %H:%M:%S")


def moment(field: str, description: str, text: Callable[[datetime, object], str] = _in_current_zone):
    """A column that shows a time as `text(value, row)` writes it; else to the second, in the current time zone."""

    @admin.display(description=description, ordering=field)
    def shown(self, row):
        value = getattr(row, field)
        return "-" if value is None else format_html('<span class="jobs-moment">{}</span>', text(value, row))

    return shown


def preformatted(text: str | None):
    """`text` as it is, line by line."""
    return format_html('<pre class="jobs-text">{}</pre>', visible(text)) if text else "-"


def pretty_json(value: object):
    """A JSON value in lines, with what is secret by its name masked."""
    return preformatted(json.dumps(mask({"": value})[""], indent=2, ensure_ascii=False))
