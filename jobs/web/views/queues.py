"""Workers and queues."""

from django import forms
from django.contrib import messages
from django.shortcuts import redirect

from jobs.lifecycle import known_queues, pause, resume
from jobs.lifecycle.queues import REASON_LENGTH
from jobs.lifecycle.status import is_alive, status
from jobs.models import Queue, Worker
from jobs.options import QUEUE_LENGTH
from jobs.web.pages import page, render, sent_text

MOST_GONE = 20


class PauseForm(forms.Form):
    name = forms.CharField(max_length=QUEUE_LENGTH)
    reason = forms.CharField(max_length=REASON_LENGTH, required=False)


@page(permission="view_worker")
def workers(request):
    present = list(Worker.objects.filter(state__in=Worker.PRESENT).order_by("id"))
    context = {
        "workers": [{"worker": worker, "state": worker.state if is_alive(worker) else "silent"} for worker in present],
        "gone": Worker.objects.exclude(state__in=Worker.PRESENT).order_by("-id")[:MOST_GONE],
        "queues": _queues() if request.user.has_perm("jobs.view_queue") else None,
        "reason_length": REASON_LENGTH,
    }
    return render(request, "workers.html", context)


def _queues() -> list[dict]:
    """All queues that have a name: those where something waits, and those that somebody has named."""
    waiting = {queue["name"]: queue for queue in status()["queues"]}
    rows = {queue.name: queue for queue in Queue.objects.all()}
    names = sorted({*waiting, *known_queues()})
    return [{"name": name, "row": rows.get(name), "waiting": waiting.get(name)} for name in names]


@page("POST", permission="change_queue")
def pause_queue(request):
    form = PauseForm(request.POST)
    if not form.is_valid():
        for name, problems in form.errors.items():
            messages.error(request, f"{name.capitalize()}: {' '.join(problems)}")
        return redirect("jobs:workers")
    try:
        pause(form.cleaned_data["name"], reason=form.cleaned_data["reason"], actor=request.user)
    except ValueError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"The queue {form.cleaned_data['name']} is paused. What runs goes on.")
    return redirect("jobs:workers")


@page("POST", permission="change_queue")
def resume_queue(request):
    name = sent_text(request.POST, "name", QUEUE_LENGTH)
    if resume(name, actor=request.user):
        messages.success(request, f"The queue {name} goes on.")
    else:
        messages.warning(request, f"The queue {name} was not paused.")
    return redirect("jobs:workers")
