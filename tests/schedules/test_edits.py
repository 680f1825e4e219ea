"""Edits, whichever way they are made, reach dispatchers that run already."""

import pytest
from django.db import connections, transaction

from jobs.lifecycle import definitions
from jobs.lifecycle.database import alias
from jobs.lifecycle.schedules import delete_schedule, save_schedule, set_schedule_enabled
from jobs.models import Run, Schedule
from jobs.runtime.agenda import EDITS_SECONDS
from tests.lifecycle.support import elsewhere
from tests.schedules.support import a_job, drive, every, settle, skipped, slots, sql, utc

pytestmark = pytest.mark.django_db(transaction=True)

PROMISED = 15  # seconds until an edit is effective, by whichever way


def by_save(schedule, **changes):
    vars(schedule).update(changes)
    schedule.save()


def by_save_of_columns(schedule, **changes):
    vars(schedule).update(changes)
    schedule.save(update_fields=list(changes))


def by_form(schedule, **changes):
    vars(schedule).update(changes)
    save_schedule(schedule, fields=list(changes))


def by_update(schedule, **changes):
    Schedule.objects.filter(pk=schedule.pk).update(**changes)


def by_bulk_update(schedule, **changes):
    vars(schedule).update(changes)
    Schedule.objects.bulk_update([schedule], list(changes))


def by_sql(schedule, **changes):
    columns = ", ".join(f"{name} = %s" for name in changes)
    sql(f"UPDATE jobs_schedule SET {columns} WHERE id = %s", *changes.values(), schedule.pk)


def from_elsewhere(schedule, **changes):
    elsewhere(lambda: by_sql(schedule, **changes))


EDITS = [by_save, by_save_of_columns, by_form, by_update, by_bulk_update, by_sql, from_elsewhere]
DELETIONS = {
    "verb": delete_schedule,
    "instance": lambda schedule: schedule.delete(),
    "queryset": lambda schedule: Schedule.objects.filter(pk=schedule.pk).delete(),
    "sql": lambda schedule: sql("DELETE FROM jobs_schedule WHERE id = %s", schedule.pk),
    "elsewhere": lambda schedule: elsewhere(lambda: sql("DELETE FROM jobs_schedule WHERE id = %s", schedule.pk)),
    "its job, by verb": lambda schedule: definitions.delete(schedule.job),
    "its job": lambda schedule: schedule.job.delete(),
}


@pytest.fixture
def dispatchers(clock, by_hand):
    first = by_hand()
    settle(first)
    clock.move(3.5)  # they look for edits at other times
    second = by_hand()
    settle(first, second)
    return [first, second]


def seconds(schedule: Schedule, begin) -> list[float]:
    """When its slots were, in seconds from `begin`."""
    fired = Run.objects.filter(schedule_id=schedule.pk).exclude(state="skipped").order_by("slot")
    return [(slot - begin).total_seconds() for slot in fired.values_list("slot", flat=True)]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
class TestEachWay:
    def test_another_rhythm_is_effective_in_time(self, clock, dispatchers, edit):
        begin = clock.now()
        schedule = every(300, overlap="allow")
        drive(clock, 60.25, *dispatchers)
        edit(Schedule.objects.get(pk=schedule.pk), interval_seconds=3)
        drive(clock, 44.75, *dispatchers)  # 105 seconds after its anchor
        fired = seconds(schedule, begin)
        assert fired == [float(second) for second in range(int(fired[0]), 106, 3)]  # each once, none left out
        assert fired[0] <= 60.25 + PROMISED
        if edit in (by_save, by_form):  # these need no look for edits
            assert fired[0] == 63
        drive(clock, 300, *dispatchers, step=30)  # also over the slot of the old rhythm
        assert len(seconds(schedule, begin)) == len(fired) + 100
        assert skipped(schedule) == []

    def test_disabled_it_fires_no_more(self, clock, dispatchers, edit):
        schedule = every(3)
        drive(clock, 10, *dispatchers)
        assert len(slots(schedule)) == 3
        edit(Schedule.objects.get(pk=schedule.pk), is_enabled=False)
        drive(clock, 30, *dispatchers)
        assert len(slots(schedule)) == 3

    def test_what_passed_while_it_was_disabled_is_not_caught_up(self, clock, dispatchers, edit):
        begin = clock.now()
        schedule = every(3, misfire="all")
        drive(clock, 10, *dispatchers)
        edit(Schedule.objects.get(pk=schedule.pk), is_enabled=False)
        drive(clock, 110, *dispatchers)
        edit(Schedule.objects.get(pk=schedule.pk), is_enabled=True)
        drive(clock, 30, *dispatchers)
        fired = seconds(schedule, begin)
        assert fired[:3] == [3, 6, 9]
        assert 120 < fired[3] <= 120 + PROMISED
        assert fired[3:] == [float(second) for second in range(int(fired[3]), 151, 3)]
        assert skipped(schedule) == []

    def test_edited_again_and_again_it_fires_each_slot_once(self, clock, dispatchers, edit):
        schedule = every(5, overlap="allow")
        for interval in (2, 5, 3, 5, 1, 5):
            drive(clock, EDITS_SECONDS + 2, *dispatchers)
            edit(Schedule.objects.get(pk=schedule.pk), interval_seconds=interval)
        drive(clock, 20, *dispatchers)
        fired = slots(schedule)
        assert fired == sorted(set(fired))
        assert "missed" not in dict(skipped(schedule))
        assert Schedule.objects.get(pk=schedule.pk).problem == ""


@pytest.mark.parametrize("way", DELETIONS)
def test_deleted_it_fires_no_more(clock, dispatchers, way):
    schedule, other = every(3), every(3)
    drive(clock, 10, *dispatchers)
    DELETIONS[way](Schedule.objects.get(pk=schedule.pk))
    drive(clock, 30, *dispatchers)
    assert len(slots(schedule)) == 3
    assert len(slots(other)) == 13
    assert not Schedule.objects.filter(pk=schedule.pk).exists()


def test_disabled_by_its_verb_it_fires_no_more(clock, dispatchers):
    schedule = every(3, misfire="all")
    drive(clock, 10, *dispatchers)
    stale = Schedule.objects.get(pk=schedule.pk)
    assert set_schedule_enabled(stale, False) is True
    assert set_schedule_enabled(stale, False) is False
    drive(clock, 90, *dispatchers)
    assert len(slots(schedule)) == 3
    assert set_schedule_enabled(stale, True) is True
    drive(clock, 9, *dispatchers)
    assert len(slots(schedule)) == 6


class TestWhileDispatchersFire:
    """A person has a row on the screen; meanwhile its slots go on."""

    @pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
    def test_an_edit_turns_back_nothing(self, clock, dispatchers, caplog, edit):
        schedule = every(3)
        on_screen = Schedule.objects.get(pk=schedule.pk)
        drive(clock, 30, *dispatchers)
        before = Schedule.objects.get(pk=schedule.pk)
        Run.objects.all().delete()  # pruned: only the schedule's row knows what is done
        edit(on_screen, name="of another name")
        settle(*dispatchers)
        after = Schedule.objects.get(pk=schedule.pk)
        assert after.name == "of another name"
        assert after.last_slot_at == before.last_slot_at
        assert slots(schedule) == []
        drive(clock, 9, *dispatchers)
        assert len(slots(schedule)) == 3
        assert after.problem == ""
        assert caplog.records == []

    @pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
    def test_a_run_that_waits_is_not_forgotten(self, clock, dispatchers, edit):
        schedule = every(30, overlap="queue")
        on_screen = Schedule.objects.get(pk=schedule.pk)
        drive(clock, 28, *dispatchers)
        Run.objects.all().delete()
        clock.move(2)
        dispatchers[0].cycle()
        works = dispatchers[0].executor.begin()
        clock.move(30)
        dispatchers[0].cycle()
        assert set(Run.objects.values_list("state", flat=True)) == {"running", "blocked"}
        edit(on_screen, is_enabled=False)
        dispatchers[0].executor.end(works)
        drive(clock, PROMISED, *dispatchers)
        assert set(Run.objects.values_list("state", flat=True)) == {"succeeded"}


def test_a_new_one_by_sql_fires_in_time(clock, dispatchers):
    job = a_job()
    sql(
        "INSERT INTO jobs_schedule (job_id, name, kind, expression, time_zone, misfire, overlap) "
        "VALUES (%s, '', 'cron', '* * * * *', 'UTC', 'once', 'skip')",
        job.pk,
    )
    clock.move_to(utc("2027-01-01T00:00:40"))
    drive(clock, 80, *dispatchers)
    assert slots(Schedule.objects.get()) == ["01-01T00:01:00", "01-01T00:02:00"]


def test_a_new_one_by_bulk_create_fires_in_time(clock, dispatchers):
    rule = {"kind": "cron", "expression": "* * * * *"}
    Schedule.objects.bulk_create(Schedule(job=a_job(), **rule) for _ in range(45))  # more than one transaction handles
    drive(clock, 120, *dispatchers)
    assert {tuple(slots(each)) for each in Schedule.objects.all()} == {("01-01T00:01:00", "01-01T00:02:00")}


def test_a_change_inside_a_transaction_counts_once_it_is_committed(clock, dispatchers):
    if connections[alias()].vendor == "sqlite":
        pytest.skip("one lock for all")
    schedule = every(3600)
    with transaction.atomic(using=alias()):
        by_update(schedule, interval_seconds=3)
        elsewhere(lambda: drive(clock, 2 * EDITS_SECONDS, *dispatchers))
        assert slots(schedule) == []
    drive(clock, PROMISED + 3, *dispatchers)
    assert slots(schedule)
