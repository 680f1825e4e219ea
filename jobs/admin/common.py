"""What the admin pages of history share."""

import json

from django.contrib import admin
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


class GuardedAdmin(admin.ModelAdmin):
    """What a page hides cannot be guessed through the filters of its address either."""

    hidden_columns = ("arguments_json", "result_json", "options_json", "reason_json", "details_json")

    def lookup_allowed(self, lookup, value, request):
        column = lookup.partition("__")[0]
        return column not in self.hidden_columns and super().lookup_allowed(lookup, value, request)


class HistoryAdmin(GuardedAdmin):
    """Rows that tell what happened: nobody adds, edits or deletes them here."""

    class Media:
        css = {"all": ("jobs/admin.css",)}

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


def moment(field: str, description: str):
    """A column that shows a time to the second, in the site's current time zone."""

    @admin.display(description=description, ordering=field)
    def shown(self, row):
        value = getattr(row, field)
        if value is None:
            return "-"
        text = timezone.localtime(value).strftime("%Y-%m-%d %H:%M:%S")
        return format_html('<span class="jobs-moment">{}</span>', text)

    return shown


def preformatted(text: str | None):
    """`text` as it is, line by line."""
    return format_html('<pre class="jobs-text">{}</pre>', visible(text)) if text else "-"


def pretty_json(value: object):
    """A JSON value in lines, with what is secret by its name masked."""
    return preformatted(json.dumps(mask({"": value})[""], indent=2, ensure_ascii=False))
