"""Filling in past slots: what is told before it is done, what is done, and what is refused."""

import json

import pytest

from jobs.core.states import State
from jobs.lifecycle import backfill
from jobs.models import AuditEntry, Job, Run, Schedule
from tests.admin.support import filled_in, make_schedule, page, told, url
from tests.schedules.support import utc

NIGHTS = {"backfill-start": "2026-12-25T00:00", "backfill-until": "2026-12-28T02:30"}


@pytest.fixture
def schedule(db, clock) -> Schedule:
    job = Job.objects.create(name="Report", task="tests.tasks.admin_greet", arguments_json='{"name":"Ada"}')
    return make_schedule(job, name="Nightly")


@pytest.fixture
def send(admin_client, schedule):
    return lambda **fields: admin_client.post(url("schedule", "backfill", schedule.pk), NIGHTS | fields)


def confirm(client, response, **fields):
    """Press the button again on the page that told how many slots there are."""
    assert response.status_code == 200
    return client.post(response.wsgi_request.path, filled_in(response.content.decode()) | fields)


def test_the_page_has_its_form(admin_client, schedule):
    html = page(admin_client, url("schedule", "backfill", schedule.pk))
    assert "By the clock of Europe/Berlin." in html
    assert f'href="{url("schedule", "backfill", schedule.pk)}"' in page(
        admin_client, url("schedule", "change", schedule.pk)
    )


def test_it_tells_how_many_there_are_before_it_stores_them(admin_client, send, schedule):
    response = send(**{"backfill-priority": "-3", "backfill-note": "The machine was off"})
    assert "4 slots: 4 runs will be stored." in response.content.decode()
    assert not Run.objects.exists()
    response = confirm(admin_client, response)
    assert response["Location"] == url("schedule", "change", schedule.pk)
    assert told(response) == ["4 runs were stored."]
    runs = Run.objects.order_by("slot")
    assert [run.slot for run in runs] == [utc(f"2026-12-{day}T01:30") for day in (25, 26, 27, 28)]
    assert {(run.priority, run.state) for run in runs} == {(-3, State.QUEUED)}
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_name, entry.actor_name, entry.note) == (
        "backfill", "Nightly", "admin", "The machine was off",
    )  # fmt: skip
    assert json.loads(entry.details_json)["runs"] == 4


def test_slots_that_have_runs_are_told_apart_and_left_alone(admin_client, send, schedule):
    backfill(schedule, utc("2026-12-27T00:00"), utc("2026-12-28T00:00"))
    response = send()
    assert "4 slots, 1 of them with a run already: 3 runs will be stored." in response.content.decode()
    confirm(admin_client, response)
    assert Run.objects.count() == 4
    response = send()
    assert "there is nothing to fill in" in response.content.decode()
    assert told(confirm(admin_client, response)) == ["Nothing was stored: each of these slots has a run."]


def test_other_times_are_counted_again(admin_client, send):
    response = confirm(admin_client, send(), **{"backfill-until": "2026-12-26T12:00"})
    assert "2 slots: 2 runs will be stored." in response.content.decode()
    assert not Run.objects.exists()
    confirm(admin_client, response)
    assert Run.objects.count() == 2


def test_the_job_decides_the_priority_where_nothing_is_said(admin_client, send):
    confirm(admin_client, send())
    assert {run.priority for run in Run.objects.all()} == {4}


@pytest.mark.parametrize(
    ("fields", "where", "text"),
    [
        ({"backfill-until": "2027-01-01T01:01"}, "until", "Expected a moment that has passed"),
        ({"backfill-until": "2026-12-01T00:00"}, "until", "not before the start"),
        ({"backfill-start": "1926-01-01T00:00"}, "__all__", "at most 10,000"),
        ({"backfill-start": "2026-10-25T02:30"}, "start", "give the offset"),
        ({"backfill-start": "x"}, "start", "Expected a date and a time"),
        ({"backfill-start": ""}, "start", "required"),
        ({"backfill-until": ""}, "until", "required"),
        ({"backfill-start": "0001-01-01T00:00Z"}, "__all__", "at most 10,000"),
        ({"backfill-priority": "101"}, "priority", "100"),
        ({"backfill-priority": "high"}, "priority", "number"),
        ({"backfill-note": "n" * 501}, "note", "500"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_stored(send, fields, where, text):
    response = send(**fields, **{"backfill-counted": "anything"})
    assert response.status_code == 200
    errors = response.context["form"].errors
    assert errors.keys() == {where}
    assert text in str(errors[where])
    assert text in response.content.decode()
    assert not Run.objects.exists()


def test_a_rule_that_is_none_is_told(send, schedule):
    Schedule.objects.update(expression="garbage")
    assert "Expected five fields" in send().content.decode()


def test_a_job_whose_options_are_none_is_told(admin_client, send):
    Job.objects.update(priority=1000)
    response = confirm(admin_client, send())
    assert "priority" in str(response.context["form"].non_field_errors())
    assert not Run.objects.exists()


def test_one_that_is_not_there(admin_client, schedule):
    assert admin_client.get(url("schedule", "backfill", 999_999)).status_code == 302
