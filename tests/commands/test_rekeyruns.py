"""`manage.py rekeyruns`: another AGEING_SECONDS comes into force while nobody works."""

import pytest
from django.utils import timezone

from jobs.core.order import order_key
from jobs.models import Run, SiteState, Worker
from jobs.testing import drain
from tests.tasks import runtime_nothing

pytestmark = pytest.mark.django_db


def test_unfinished_runs_get_the_keys_of_the_new_ageing(command, settings):
    finished = runtime_nothing.enqueue()
    drain()
    waiting = [runtime_nothing.using(priority=priority).enqueue() for priority in (-5, 5)]
    old_key = Run.objects.get(pk=finished.pk).order_key
    settings.JOBS = {**settings.JOBS, "AGEING_SECONDS": 600}
    ended = command("rekeyruns")
    assert ended.code == 0
    assert ended.output == "2 unfinished runs have new order keys.\n"
    for run in waiting:
        run.refresh_from_db()
        assert run.order_key == order_key(run.priority, run.ready_at, 600_000_000)
    assert Run.objects.get(pk=finished.pk).order_key == old_key
    assert SiteState.objects.get(pk="ageing_microseconds").value == "600000000"


@pytest.mark.parametrize("state", ["alive", "stopping"])
def test_while_somebody_works_it_refuses_and_names_them(command, settings, state):
    run = runtime_nothing.using(priority=5).enqueue()
    now = timezone.now()
    Worker.objects.create(
        name="host:42", host="host", pid=42, kind="web", executor="threads", threads=1, state=state,
        beat_at=now, started_at=now,
    )  # fmt: skip
    settings.JOBS = {**settings.JOBS, "AGEING_SECONDS": 600}
    ended = command("rekeyruns")
    assert ended.code == 1
    assert ended.error == "Stop these workers first: host:42."
    assert Run.objects.get().order_key == run.order_key


def test_on_a_new_site_there_is_nothing_to_do(command):
    assert command("rekeyruns").output == "0 unfinished runs have new order keys.\n"
