"""Repeating what has ended."""

import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobs.core.order import STRICT_AGEING, order_key
from jobs.errors import NotRegistered, ParameterError
from jobs.lifecycle import NotFinished, rules
from jobs.models import AuditEntry, Run
from jobs.testing import drain
from tests.lifecycle.support import PATIENCE, Thread, ended, fresh, row, stored, success, take_one, write
from tests.tasks import lifecycle_note, lifecycle_single

pytestmark = pytest.mark.django_db
FINAL = pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "skipped"])


@FINAL
def test_a_new_run_is_made_and_linked(clock, state):
    given = {"queue": "q", "priority": 7, "on_lost": "fail", "max_losses": 2, "arguments_json": '{"what":[1]}'}
    old = ended(state, job_id=5, job_name="Nightly", scheduled_for=clock.now(), slot=clock.now(), **given)
    before = row(old)
    clock.move(60)
    new = old.run_again()
    assert row(old) == before
    assert (new.is_new, new.pk != old.pk) == (True, True)
    again = fresh(new)
    assert {name: getattr(again, name) for name in given} == given
    assert (again.rerun_of_id, again.job_id, again.job_name) == (old.pk, 5, "Nightly")
    assert (again.scheduled_for, again.slot) == (old.scheduled_for, None)
    assert (again.state, again.enqueued_at, again.claim_no, again.attempt) == ("queued", clock.now(), 0, 1)
    assert again.order_key == order_key(7, clock.now(), STRICT_AGEING)


def test_nothing_of_the_end_is_copied():
    old = ended(failures=1, losses=2, worker_id=7, result_json="1", progress_done=5, reason_code="function_raised")
    again = fresh(old.run_again())
    assert (again.failures, again.losses, again.worker_id, again.result_json) == (0, 0, None, None)
    assert (again.progress_done, again.reason_code, again.finished_at, again.due_at) == (None, "", None, None)


@pytest.mark.parametrize("state", ["blocked", "scheduled", "queued", "running"])
def test_what_is_still_to_end_is_refused(state):
    run = stored(state=state)
    with pytest.raises(NotFinished, match=f"Run {run.pk} is still {state}: it can be run again once it has ended"):
        run.run_again(actor="somebody")
    assert Run.objects.count() == 1
    assert not AuditEntry.objects.exists()


def test_the_row_decides_not_the_instance():
    run = stored()
    write(success(take_one()))
    assert run.state == "queued"
    assert run.run_again().is_new
    other = stored()
    other.state = "succeeded"
    with pytest.raises(NotFinished):
        other.run_again()


def test_it_is_executed(notes):
    run = lifecycle_note.enqueue("x")
    drain()
    again = fresh(run).run_again()
    drain()
    assert notes == ["x", "x"]
    assert fresh(again).state == "succeeded"


def test_a_run_of_a_run(notes):
    first = ended()
    second = first.run_again()
    write(success(take_one()))
    assert second.run_again().rerun_of_id == second.pk


def test_it_competes_for_its_unique_key():
    first = lifecycle_single.enqueue(1)
    write(success(take_one()))
    again = first.run_again()
    assert (again.is_new, again.unique_key) == (True, "the only one")
    assert not lifecycle_single.enqueue(2).is_new
    assert not first.run_again().is_new
    assert Run.objects.count() == 2


def test_by_a_user(clock):
    ann = User.objects.create(username="ann")
    old = ended(submitted_by_key="99", submitted_by_name="bob")
    again = old.run_again(actor=ann, note="the rates were wrong")
    assert (fresh(again).submitted_by_key, fresh(again).submitted_by_name) == (str(ann.pk), "ann")
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_type, entry.object_id) == ("run again", "run", str(old.pk))
    assert (entry.actor_name, entry.note, entry.details_json) == (
        "ann",
        "the rates were wrong",
        f'{{"run": {again.pk}}}',
    )


def test_rolled_back_with_the_callers_transaction(wakes, django_capture_on_commit_callbacks):
    old = ended()
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        old.run_again(actor="somebody")
        transaction.set_rollback(True)
    assert Run.objects.count() == 1
    assert not AuditEntry.objects.exists()
    assert wakes == []


def test_it_wakes_the_dispatcher(wakes, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        ended().run_again()
    assert wakes == ["wake"]


def old_sum(**columns) -> Run:
    return ended(task="tests.tasks.lifecycle_add", arguments_json='{"a":1,"b":2}', priority=3, queue="q", **columns)


def test_with_other_parameters():
    old = old_sum()
    before = row(old)
    again = old.run_again(arguments={"a": 5}, actor="ann")
    assert row(old) == before
    assert (fresh(again).arguments, fresh(again).rerun_of_id) == ({"a": 5}, old.pk)
    assert (again.priority, again.queue) == (3, "q")
    drain()
    assert fresh(again).result == 6


@pytest.mark.parametrize("arguments", [{"a": "x"}, {}, {"a": 1, "c": 1}])
def test_with_parameters_that_do_not_fit(arguments):
    with pytest.raises(ParameterError):
        old_sum().run_again(arguments=arguments, actor="ann")
    assert Run.objects.count() == 1
    assert not AuditEntry.objects.exists()


def test_other_parameters_need_the_function_and_the_same_ones_do_not():
    old = ended(task="tests.tasks.lifecycle_gone")
    with pytest.raises(NotRegistered, match="lifecycle_gone"):
        old.run_again(arguments={})
    assert old.run_again().arguments == old.arguments


def test_with_other_options(clock):
    old = old_sum(on_lost="fail", max_losses=2)
    options = {"priority": -7, "queue": "other", "unique_key": "k", "run_after": timedelta(minutes=5)}
    again = fresh(old.run_again(options=options))
    assert (again.priority, again.queue, again.unique_key) == (-7, "other", "k")
    assert (again.state, again.due_at) == ("scheduled", clock.now() + timedelta(minutes=5))
    assert (again.on_lost, again.max_losses, again.arguments) == ("fail", 2, {"a": 1, "b": 2})


@pytest.mark.parametrize("options", [{"colour": "red"}, {"priority": 101}, {"queue": ""}, {"run_after": 5}])
def test_with_options_that_do_not_fit(options):
    with pytest.raises((TypeError, ValueError)):
        old_sum().run_again(options=options, actor="ann")
    assert Run.objects.count() == 1
    assert not AuditEntry.objects.exists()


class TestOnePress:
    """A button that is pressed twice, or whose request comes twice."""

    def test_it_makes_one_run(self):
        old = ended()
        first, second = (fresh(old).run_again(press="p") for _ in range(2))
        assert (first.is_new, second.pk, second.is_new) == (True, first.pk, False)
        assert Run.objects.filter(rerun_of_id=old.pk).count() == 1

    def test_also_when_the_first_one_has_ended_meanwhile(self):
        old = ended()
        first = old.run_again(press="p")
        Run.objects.filter(pk=first.pk).update(state="succeeded")
        assert fresh(old).run_again(press="p").pk == first.pk

    def test_another_press_or_one_on_another_run_makes_another_one(self):
        old, other = ended(), ended()
        runs = [old.run_again(press="p"), old.run_again(press="q"), other.run_again(press="p"), old.run_again()]
        assert len({run.pk for run in runs}) == 4

    @pytest.mark.parametrize("press", ["x" * 10_000, "\x00", "\ud800", '"', "%", "_", "🐝"])
    def test_any_text(self, press):
        old = ended()
        assert old.run_again(press="other").pk != old.run_again(press=press).pk == old.run_again(press=press).pk

    def test_what_was_edited_since_is_another_one(self):
        old = ended(task="tests.tasks.lifecycle_add", arguments_json='{"a":1}')
        first = old.run_again(press="p", arguments={"a": 1}, options={"priority": 1, "queue": "q"})
        same = old.run_again(press="p", arguments={"a": 1}, options={"queue": "q", "priority": 1})
        assert (same.pk, same.is_of_earlier_press) == (first.pk, True)
        for edited in ({"arguments": {"a": 2}}, {"arguments": {"a": 1}, "options": {"priority": 2, "queue": "q"}}):
            other = old.run_again(press="p", **edited)
            assert (other.is_new, other.is_of_earlier_press) == (True, False)

    def test_one_that_meets_a_held_key_is_not_taken_for_an_earlier_press(self):
        old = ended(task=lifecycle_single.name, arguments_json="{}", unique_key="k")
        first = old.run_again(press="p")
        second = old.run_again(press="q")
        assert (second.pk, second.is_new, second.is_of_earlier_press) == (first.pk, False, False)

    @pytest.mark.parametrize("seconds", [1e300, -1e300, 0.0])
    def test_a_timeout_that_is_none_is_left_out(self, seconds):
        assert fresh(ended(timeout_seconds=seconds).run_again()).timeout_seconds is None

    def test_it_has_the_options_of_the_old_one_all_the_same(self):
        old = ended(options_json='{"progress_timeout":5.0}', max_attempts=4, timeout_seconds=7.0, executor="processes")
        copy = fresh(old.run_again(press="p"))
        assert (copy.max_attempts, copy.timeout_seconds, copy.executor) == (4, 7.0, "processes")
        assert rules.progress_timeout(copy.options_json) == timedelta(seconds=5)

    @pytest.mark.django_db(transaction=True)
    def test_both_at_once(self):
        old = ended()
        barrier = threading.Barrier(2, timeout=PATIENCE)

        def press():
            mine = fresh(old)
            barrier.wait()
            return mine.run_again(press="p").pk

        threads = [Thread(press) for _ in range(2)]
        assert len({thread.outcome() for thread in threads}) == 1
        assert Run.objects.filter(rerun_of_id=old.pk).count() == 1
