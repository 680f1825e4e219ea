"""One ageing for all order keys of a site."""

import re

import pytest
from django.core.management import get_commands

from jobs.core.order import STRICT_AGEING, order_key
from jobs.lifecycle import ageing
from jobs.lifecycle.ageing import AgeingMismatch, WorkersPresent, check_ageing, rekey
from jobs.models import Run, SiteState, Worker
from jobs.testing import drain
from tests.lifecycle.support import ended, fresh, new_worker, row, stored
from tests.tasks import lifecycle_note

pytestmark = pytest.mark.django_db
TEN_MINUTES = 600_000_000


def set_ageing(settings, seconds):
    settings.JOBS = {**settings.JOBS, "AGEING_SECONDS": seconds}


def in_force():
    return int(SiteState.objects.get(pk="ageing_microseconds").value)


def test_the_first_process_puts_its_own_in_force(settings, clock):
    check_ageing()
    assert in_force() == STRICT_AGEING
    check_ageing()
    assert SiteState.objects.count() == 1


def test_a_value_of_ones_own(settings):
    set_ageing(settings, 600)
    check_ageing()
    assert in_force() == TEN_MINUTES


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (None, 600, ["ageing of None (strict priority)", "set to 600 seconds"]),
        (600, None, ["ageing of 600 seconds", "set to None (strict priority)"]),
        (600, 0.5, ["ageing of 600 seconds", "set to 0.5 seconds"]),
    ],
)
def test_another_one_is_refused(settings, before, after, words):
    set_ageing(settings, before)
    check_ageing()
    set_ageing(settings, after)
    with pytest.raises(AgeingMismatch) as caught:
        check_ageing()
    for part in [*words, 'JOBS["AGEING_SECONDS"]', "stop all workers", "manage.py rekeyruns"]:
        assert part in str(caught.value)
    assert in_force() == (STRICT_AGEING if before is None else TEN_MINUTES)


def test_the_command_that_is_named_exists(settings):
    check_ageing()
    set_ageing(settings, 600)
    with pytest.raises(AgeingMismatch) as caught:
        check_ageing()
    (command,) = re.findall(r"manage\.py (\w+)", str(caught.value))
    assert get_commands()[command] == "jobs"


def test_who_comes_second_agrees_with_the_first(settings, monkeypatch):
    """Both look before either has written: the INSERT decides."""
    SiteState.objects.create(pk="ageing_microseconds", value=str(TEN_MINUTES))
    assert ageing._store_first(str(STRICT_AGEING)).value == str(TEN_MINUTES)
    assert in_force() == TEN_MINUTES


def test_rekey(settings, clock):
    states = ["blocked", "scheduled", "queued", "running"]
    unfinished = [stored(state=state, priority=5, ready_in=n) for n, state in enumerate(states)]
    finished = [ended(state, priority=5) for state in ("succeeded", "failed", "cancelled", "skipped")]
    before = {run.pk: row(run) for run in unfinished + finished}
    check_ageing()
    set_ageing(settings, 600)
    assert rekey() == 4
    for run in unfinished:
        assert row(run) == before[run.pk] | {"order_key": order_key(5, run.ready_at, TEN_MINUTES)}
    for run in finished:
        assert row(run) == before[run.pk]
    assert in_force() == TEN_MINUTES
    check_ageing()


def test_rekey_twice_and_back(settings, clock):
    runs = [stored(priority=priority, ready_in=n) for n, priority in enumerate((-100, 0, 100))]
    before = [row(run) for run in runs]
    for seconds in (600, 600, None):
        set_ageing(settings, seconds)
        assert rekey() == 3
    assert [row(run) for run in runs] == before


def test_rekey_takes_the_effective_priority(settings):
    run = stored(priority=5)
    Run.objects.update(effective_priority=-5)
    set_ageing(settings, 600)
    rekey()
    assert fresh(run).order_key == order_key(-5, run.ready_at, TEN_MINUTES)


def test_many_runs_are_each_counted_once(settings, clock, monkeypatch):
    """Although their places in the index change while they are read."""
    monkeypatch.setattr(ageing, "BATCH", 10)
    Run.objects.bulk_create(
        Run(task="t", state="queued", queue="q", priority=p, effective_priority=p, ready_at=clock.now(),
            enqueued_at=clock.now(), order_key=order_key(p, clock.now(), STRICT_AGEING))
        for p in range(-50, 51) for _ in range(3)
    )  # fmt: skip
    set_ageing(settings, 600)
    assert rekey() == Run.objects.count() > 300


@pytest.mark.parametrize("state", ["alive", "stopping"])
def test_not_while_workers_are_there(settings, state):
    worker = new_worker()
    Worker.objects.update(state=state)
    run = stored(priority=5)
    before = row(run)
    check_ageing()
    set_ageing(settings, 600)
    with pytest.raises(WorkersPresent, match=f"Stop these workers first: {worker.name}"):
        rekey()
    assert row(run) == before
    assert in_force() == STRICT_AGEING


@pytest.mark.parametrize("state", ["dead", "stopped"])
def test_workers_that_are_gone_do_not_hinder(settings, state):
    new_worker()
    Worker.objects.update(state=state)
    assert rekey() == 0


def test_a_worker_that_was_killed_hinders_for_a_while_only(settings, clock):
    settings.JOBS = {}
    new_worker()
    clock.move(450)
    with pytest.raises(WorkersPresent):
        rekey()
    clock.move(0.001)
    assert rekey() == 0


@pytest.mark.parametrize(("minutes", "order"), [(49, ["late", "early"]), (51, ["early", "late"])])
def test_a_level_is_worth_ten_minutes_of_waiting(settings, clock, notes, minutes, order):
    set_ageing(settings, 600)
    lifecycle_note.using(priority=5).enqueue("early")
    clock.move(minutes * 60)
    lifecycle_note.using(priority=0).enqueue("late")
    drain()
    assert notes == order


def test_rekeyed_runs_are_taken_in_their_new_order(settings, clock, notes):
    lifecycle_note.using(priority=5).enqueue("early")
    clock.move(51 * 60)
    lifecycle_note.using(priority=0).enqueue("late")
    set_ageing(settings, 600)
    rekey()
    drain()
    assert notes == ["early", "late"]
