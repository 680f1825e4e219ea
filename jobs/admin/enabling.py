"""What the pages of jobs and schedules share: both are enabled, disabled and deleted by verbs of the lifecycle."""

from collections.abc import Callable

from django.contrib import admin, messages

from jobs.admin.common import GuardedAdmin


class EnablingAdmin(GuardedAdmin):
    """Subclasses name the verbs, as static methods."""

    set_enabled: Callable[..., bool]
    delete: Callable[..., None]

    def delete_model(self, request, obj):
        self.delete(obj, actor=request.user)

    def delete_queryset(self, request, queryset):
        for each in queryset:
            self.delete(each, actor=request.user)

    @admin.action(description="Enable the selected %(verbose_name_plural)s", permissions=["change"])
    def enable(self, request, queryset):
        self._set_all_enabled(request, queryset, True)

    @admin.action(description="Disable the selected %(verbose_name_plural)s", permissions=["change"])
    def disable(self, request, queryset):
        self._set_all_enabled(request, queryset, False)

    def _set_all_enabled(self, request, queryset, is_enabled: bool) -> None:
        word = "enabled" if is_enabled else "disabled"
        for each in queryset:
            if self.set_enabled(each, is_enabled, actor=request.user):
                self.log_change(request, each, f"{word.capitalize()}.")
        self.message_user(request, f"The selected {self.opts.verbose_name_plural} are {word}.", messages.SUCCESS)
