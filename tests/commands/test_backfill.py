"""`manage.py backfill`."""

import pytest

from jobs.models import AuditEntry, Run
from jobs.testing import FakeClock
from tests.schedules.support import a_job, a_schedule, utc

pytestmark = pytest.mark.django_db

NOW = utc("2027-04-01T12:00:00")


@pytest.fixture(autouse=True)
def clock():
    with FakeClock(NOW) as clock:
        yield clock


@pytest.fixture
def daily():
    return a_schedule("30 2 * * *", job=a_job(name="Nightly"), time_zone="Europe/Berlin")


def slots() -> list[str]:
    return [f"{run.scheduled_for:%m-%dT%H:%M}" for run in Run.objects.order_by("order_key")]


def test_each_slot_once_and_a_day_as_the_end_is_the_whole_day(command, daily):
    ended = command("backfill", "Nightly", "--from", "2027-03-27", "--to", "2027-03-29", "--priority", "50")
    assert (ended.code, ended.output) == (0, "3 runs of Nightly are stored.\n")
    assert slots() == ["03-27T01:30", "03-28T01:00", "03-29T00:30"]
    assert set(Run.objects.values_list("priority", "state", "job_name")) == {(50, "queued", "Nightly")}
    again = command("backfill", "Nightly", "--from", "2027-03-26", "--to", "2027-03-29T02:30")
    assert again.output == "1 runs of Nightly are stored.\n"
    assert command("backfill", str(daily.job_id), "--from", "2027-03-27", "--to", "2027-03-28").output == (
        "Every slot has a run already.\n"
    )
    assert AuditEntry.objects.filter(verb="backfill", actor_name="manage.py backfill").count() == 3


def test_times_are_those_of_the_zone_unless_they_have_an_offset(command, daily):
    command("backfill", "Nightly", "--from", "2027-03-26T02:30", "--to", "2027-03-27T01:29:59Z")
    assert slots() == ["03-26T01:30"]


def test_a_dry_run_shows_the_slots_and_stores_nothing(command, daily):
    ended = command("backfill", "Nightly", "--from", "2027-03-27", "--to", "2027-03-28", "--dry-run")
    assert ended.output == "2027-03-27T01:30:00Z\n2027-03-28T01:00:00Z\n"
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["Weekly", "--from", "2027-03-01", "--to", "2027-03-02"], "There is no job 'Weekly'"),
        (["Nightly", "--from", "March", "--to", "2027-03-02"], "Expected a time such as 2027-03-27T06:30"),
        (["Nightly", "--from", "2027-03-01", "--to", "2027-05-01"], "Expected an end that has passed"),
        (["Nightly", "--from", "2027-03-02", "--to", "2027-03-01"], "Expected a start that is not after the end"),
        (["Nightly", "--from", "1927-03-02", "--to", "2027-03-01"], "at most 10,000"),
        (["Nightly", "--from", "2027-03-01", "--to", "2027-03-02", "--priority", "101"], "between -100"),
        (["Nightly", "--from", "2027-03-01", "--to", "2027-03-02", "--schedule", "x"], "Choose one schedule"),
    ],
)
def test_bad_input_is_told_and_nothing_is_stored(command, daily, arguments, problem):
    ended = command("backfill", *arguments)
    assert ended.code == 1
    assert problem in ended.error
    assert not Run.objects.exists()


def test_of_several_schedules_one_is_chosen_by_name_or_number(command, daily):
    other = a_schedule("0 6 * * *", job=daily.job, name="mornings")
    ended = command("backfill", "Nightly", "--from", "2027-03-27", "--to", "2027-03-27")
    assert f"{other.pk} (mornings)" in ended.error
    command("backfill", "Nightly", "--from", "2027-03-27", "--to", "2027-03-27", "--schedule", "mornings")
    command("backfill", "Nightly", "--from", "2027-03-28", "--to", "2027-03-28", "--schedule", str(other.pk))
    assert slots() == ["03-27T06:00", "03-28T06:00"]


def test_a_job_without_a_schedule(command):
    a_job(name="Plain")
    ended = command("backfill", "Plain", "--from", "2027-03-27", "--to", "2027-03-27")
    assert ended.error == "The job Plain has no schedule."
