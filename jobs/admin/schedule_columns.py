"""How the columns of schedules are shown, in the list and on the page of one."""

from datetime import datetime

from django.contrib import admin
from django.utils.html import format_html

from jobs.admin.common import moment, pretty_json
from jobs.models import Schedule
from jobs.preview import by_clock_of, zone_or_utc, zoned
from jobs.schedule_form import effective_arguments
from jobs.signs import sign_of


def by_its_own_clock(value: datetime, schedule: Schedule) -> str:
    return zoned(by_clock_of(zone_or_utc(schedule.time_zone), value))


class ScheduleColumns:
    next_slot = moment("next_slot_at", "next slot", by_its_own_clock)
    last_slot = moment("last_slot_at", "last slot", by_its_own_clock)
    created = moment("created_at", "created")
    updated = moment("updated_at", "changed")

    @admin.display(description="schedule", ordering="name")
    def schedule(self, schedule):
        return str(schedule)

    @admin.display(description="rule")
    def rule(self, schedule):
        return schedule.words

    @admin.display(description="problem", ordering="problem")
    def has_problem(self, schedule):
        if not schedule.problem:
            return "-"
        badge = '<span class="jobs-state jobs-state-failed"><span aria-hidden="true">{}</span> problem</span>'
        return format_html(badge, sign_of("failed"))

    @admin.display(description="problem")
    def problem_shown(self, schedule):
        return schedule.problem or "-"

    @admin.display(description="parameters")
    def parameters(self, schedule):
        told = "As the job has them" if schedule.arguments_json is None else "Its own"
        return format_html("{}:{}", told, pretty_json(effective_arguments(schedule)))
