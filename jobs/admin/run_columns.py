"""What the admin shows of a run, in its list and on its page."""

import json

from django.contrib import admin

from jobs.admin.common import moment, preformatted, pretty_json
from jobs.admin.signs import progress_bar, state_badge
from jobs.core import clock
from jobs.core.states import FINAL
from jobs.core.texts import visible
from jobs.submission import stored_arguments


class RunColumns:
    """Columns and read-only fields of runs."""

    enqueued = moment("enqueued_at", "enqueued")
    ready = moment("ready_at", "ready")
    due = moment("due_at", "due")
    started = moment("started_at", "started")
    asked_to_end = moment("cancel_requested_at", "asked to end")
    finished = moment("finished_at", "finished")

    @admin.display(description="run", ordering="job_name")
    def what(self, run):
        return run.title

    @admin.display(description="state", ordering="state")
    def state_shown(self, run):
        return state_badge(run.state)

    @admin.display(description="progress")
    def progress(self, run):
        return progress_bar(run.progress_done, run.progress_total, run.progress_message)

    @admin.display(description="duration")
    def duration(self, run):
        if run.started_at is None:
            return "-"
        end = run.finished_at if run.state in FINAL else clock.now()
        return f"{max(0.0, (end - run.started_at).total_seconds()):.3f} s" if end else "-"

    @admin.display(description="reason")
    def full_reason(self, run):
        return visible(run.reason) or "-"

    @admin.display(description="reason")
    def public_reason(self, run):
        return visible(run.public_reason) or "-"

    @admin.display(description="parameters")
    def parameters(self, run):
        return pretty_json(stored_arguments(run))

    @admin.display(description="result")
    def result_shown(self, run):
        return "-" if run.result_json is None else pretty_json(json.loads(run.result_json))

    @admin.display(description="log")
    def log(self, run):
        return preformatted("".join(run.log_chunks.order_by("id").values_list("text", flat=True)))
