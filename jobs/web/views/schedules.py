"""A schedule of a job: added, edited, deleted, switched on and off, its past filled in."""

from django.contrib import messages
from django.shortcuts import get_object_or_404, redirect

from jobs import access
from jobs.access import demand
from jobs.backfill_form import BackfillForm
from jobs.lifecycle import delete_schedule, set_schedule_enabled
from jobs.lifecycle.database import alias
from jobs.models import Job, Schedule
from jobs.preview import zoned
from jobs.schedule_form import ABOUT, OF_KIND, TREATMENT, WHEN, ScheduleForm, preview_form
from jobs.submission import NOTE_LENGTH
from jobs.web.pages import page, render, sent_text


class FormWithParameters(ScheduleForm):
    """The form for who may see values."""

    sees_values = True


@page("GET", "HEAD", "POST", permission="add_schedule")
def add(request, job_id):
    demand(request.user.has_perm("jobs.view_job"))
    job = get_object_or_404(Job.objects.using(alias()), pk=job_id)
    return _fill_in(request, Schedule(job=job), f"Add a schedule of {job.name}")


@page("GET", "HEAD", "POST", permission="change_schedule")
def edit(request, schedule_id):
    schedule = _find(request, schedule_id)
    return _fill_in(request, schedule, f"Schedule of {schedule.job.name}")


def _find(request, schedule_id: int) -> Schedule:
    """A schedule for who may see schedules; its pages show what it does."""
    demand(request.user.has_perm("jobs.view_schedule"))
    return get_object_or_404(Schedule.objects.using(alias()).select_related("job"), pk=schedule_id)


def _fill_in(request, schedule: Schedule, heading: str):
    is_new, is_sent = schedule._state.adding, request.method == "POST"
    form_class = FormWithParameters if access.sees_values(request.user) else ScheduleForm
    form = form_class(request.POST if is_sent else None, instance=schedule)
    is_saved = is_sent and "preview" not in request.POST and form.is_valid()
    if is_saved:
        return _save(request, form)
    context = {
        "form": form, "schedule": None if is_new else schedule, "job": schedule.job, "heading": heading,
        "when": _fields(form, WHEN), "names": _fields(form, ABOUT), "treatment": _fields(form, TREATMENT),
        "has_wrong_treatment": not form.errors.keys().isdisjoint(TREATMENT), "note": sent_text(request.POST, "note"),
        "note_length": NOTE_LENGTH, **_preview(form),
    }  # fmt: skip
    is_refused = is_sent and "preview" not in request.POST
    return render(request, "schedule_form.html", context, status=422 if is_refused else 200)


def _fields(form: ScheduleForm, names: tuple[str, ...]) -> list[tuple]:
    """Each field with the classes that hide it while another kind is chosen."""
    return [(form[name], " ".join(f"not-{kind}" for kind in _kinds_without(name))) for name in names]


def _kinds_without(name: str) -> list[str]:
    belongs = [kind for kind, names in OF_KIND.items() if name in names]
    return [kind for kind in OF_KIND if belongs and kind not in belongs]


def _preview(form: ScheduleForm) -> dict:
    return {"preview": form.preview(), "rule_errors": form.rule_errors if form.is_bound else {}}


def _save(request, form: ScheduleForm):
    schedule = form.save_as(request.user, sent_text(request.POST, "note", NOTE_LENGTH))
    following = form.preview()
    times = following.times if following and schedule.is_enabled else []
    told = f" Its next time: {zoned(times[0])} ({following.zone})." if times else ""
    messages.success(request, f"The schedule is saved.{told}")
    return _back(request, schedule.job)


def _back(request, job: Job):
    """To where this person sees what came of it."""
    if request.user.has_perm("jobs.view_job"):
        return redirect("jobs:job", job.pk)
    return redirect("jobs:upcoming" if request.user.has_perm("jobs.view_schedule") else "jobs:dashboard")


@page()
def preview(request):
    """What becomes of a rule while it is typed: a part of the form's page."""
    demand(any(request.user.has_perm(f"jobs.{action}_schedule") for action in ("add", "change")))
    return render(request, "parts/schedule_preview.html", _preview(preview_form(request.GET)))


@page("GET", "HEAD", "POST", permission="delete_schedule")
def delete(request, schedule_id):
    schedule = _find(request, schedule_id)
    if request.method != "POST":
        return render(request, "schedule_delete.html", {"schedule": schedule, "note_length": NOTE_LENGTH})
    delete_schedule(schedule, actor=request.user, note=sent_text(request.POST, "note", NOTE_LENGTH))
    messages.success(request, "The schedule is deleted. Its runs stay.")
    return _back(request, schedule.job)


@page("POST", permission="change_schedule")
def enable(request, schedule_id):
    return _set_enabled(request, schedule_id, True)


@page("POST", permission="change_schedule")
def disable(request, schedule_id):
    return _set_enabled(request, schedule_id, False)


def _set_enabled(request, schedule_id: int, is_enabled: bool):
    schedule = _find(request, schedule_id)
    set_schedule_enabled(schedule, is_enabled, actor=request.user)
    messages.success(request, f"The schedule is {'enabled' if is_enabled else 'disabled'}.")
    return _back(request, schedule.job)


@page("GET", "HEAD", "POST")
def backfill(request, schedule_id):
    demand(access.may_run(request.user))
    schedule = _find(request, schedule_id)
    form = BackfillForm(schedule, request.POST if request.method == "POST" else None)
    if (runs := form.submit(request.user)) is not None:
        messages.success(request, f"{len(runs):,} {'run' if len(runs) == 1 else 'runs'} of past slots stored.")
        return _back(request, schedule.job)
    status = 422 if form.is_bound and form.errors else 200
    return render(request, "backfill.html", {"form": form, "schedule": schedule}, status=status)
