"""Adding, editing, switching and deleting schedules on the pages, filling in their past, and the preview."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from jobs.core.states import State
from jobs.models import AuditEntry, Job, Run, Schedule
from tests.admin.support import filled_in
from tests.schedules.support import look
from tests.web.support import Page, make_job, make_run, opened, schedule_sent, told, url

START = datetime(2027, 1, 12, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def start(clock):
    clock.move_to(START)
    return clock


@pytest.fixture
def job(db) -> Job:
    return make_job()


@pytest.fixture
def schedule(job) -> Schedule:
    return Schedule.objects.create(job=job, kind="cron", expression="0 3 * * *", time_zone="Europe/Berlin")


def text_of(client, address: str) -> str:
    return opened(client, address).text


# The form


def test_a_schedule_is_added_and_says_when_it_comes(operator, job):
    response = operator.post(url("schedule_add", job.pk), schedule_sent(name="Nightly", note="asked for by Ada"))
    assert (response.status_code, response.url) == (302, url("job", job.pk))
    assert told(response) == ["The schedule is saved. Its next time: Wed 2027-01-13 03:00:00 +01:00 (Europe/Berlin)."]
    schedule = Schedule.objects.get()
    assert (schedule.job, schedule.name, schedule.next_slot_at) == (job, "Nightly", START + timedelta(hours=14))
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_type, entry.note) == ("add", "schedule", "asked for by Ada")


def test_what_the_form_shows_changes_nothing_when_it_is_sent_back(operator, schedule):
    address = url("schedule", schedule.pk)
    before = Schedule.objects.values().get()
    assert operator.post(address, filled_in(operator.get(address).content.decode())).status_code == 302
    after = Schedule.objects.values().get()
    assert {name for name in before if before[name] != after[name]} <= {"updated_at", "created_at"}
    assert not AuditEntry.objects.exists()


def test_an_edit_plans_it_anew(operator, schedule):
    operator.post(url("schedule", schedule.pk), schedule_sent(expression="30 4 * * *"))
    schedule.refresh_from_db()
    assert schedule.next_slot_at == START + timedelta(hours=15, minutes=30)
    assert json.loads(AuditEntry.objects.get().details_json) == {"fields": ["expression"]}


def test_a_wrong_rule_is_refused_with_what_was_expected(operator, job):
    response = operator.post(url("schedule_add", job.pk), schedule_sent(expression="61 * * * *", note="kept"))
    page = Page(response.content.decode())
    assert response.status_code == 422
    assert page.text.count("Expected 0 to 59 for the minute") == 2  # beside the field, and in the preview
    assert page.by_id("note")["value"] == "kept"
    assert not Schedule.objects.exists()


def test_the_button_preview_shows_the_times_and_stores_nothing(operator, job):
    sent = schedule_sent(expression="*/5 * * * *", preview="1")
    response = operator.post(url("schedule_add", job.pk), sent)
    page = Page(response.content.decode())
    assert response.status_code == 200
    assert "Every fifth minute" in page.text
    assert "Tue 2027-01-12 13:05:00 +01:00" in page.text
    assert not Schedule.objects.exists()
    assert not AuditEntry.objects.exists()


def test_the_page_of_a_schedule_tells_its_times_from_the_beginning(operator, schedule):
    assert "Wed 2027-01-13 03:00:00 +01:00" in text_of(operator, url("schedule", schedule.pk))


def test_the_part_that_renews_itself_sends_the_rule_and_nothing_else(operator, schedule):
    """An address is logged: no parameter may ever stand in it."""
    html = operator.get(url("schedule", schedule.pk)).content.decode()
    preview = Page(html).by_id("preview")
    assert (preview["hx-get"], preview["hx-include"]) == (url("schedule_preview"), "#rule")
    rule = html.partition('<fieldset id="rule">')[2].partition("</fieldset>")[0]
    names = {each.get("name") for tag in ("input", "select") for each in Page(rule).all(tag)}
    assert names == {"kind", "expression", "interval_seconds", "time_zone", "anchor_at", "starts_at", "ends_at"}


def test_the_preview_tells_words_times_and_changes_of_the_clocks(operator):
    text = text_of(operator, url("schedule_preview", kind="cron", expression="30 2 * * *", time_zone="Europe/Berlin"))
    assert "At 02:30 every day (Europe/Berlin)" in text
    assert text.count("2027-01-") == 10
    assert "On 2027-03-28 the clocks skip 02:30: it fires once at 03:00 instead." in text
    assert "On 2027-10-31 02:30 comes twice: it fires at the first only." in text


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"kind": "cron", "expression": "x", "time_zone": "UTC"}, "Expected five fields"),
        ({"kind": "interval", "interval_seconds": "0", "time_zone": "UTC"}, "Expected a duration of 1 second"),
        ({"kind": "cron", "expression": "@daily", "time_zone": "Mars"}, "Expected a time zone"),
    ],
)
def test_the_preview_tells_what_is_wrong(operator, rule, expected):
    assert expected in text_of(operator, url("schedule_preview", **rule))


def test_the_preview_of_nothing_yet(operator):
    assert opened(operator, url("schedule_preview"))


def test_who_must_not_see_values_leaves_the_parameters_as_they_are(person, schedule):
    Schedule.objects.update(arguments_json='{"name":"SECRET"}')
    client = person("view_schedule", "change_schedule")
    html = client.get(url("schedule", schedule.pk)).content.decode()
    assert "SECRET" not in html
    sent = schedule_sent(expression="0 4 * * *", has_own_parameters="on", **{"parameter-name": "Eve"})
    assert client.post(url("schedule", schedule.pk), sent).status_code == 302
    schedule.refresh_from_db()
    assert (schedule.expression, schedule.arguments_json) == ("0 4 * * *", '{"name":"SECRET"}')


def test_parameters_of_its_own(operator, schedule):
    sent = schedule_sent(has_own_parameters="on", **{"parameter-name": "Eve", "parameter-times": "2"})
    operator.post(url("schedule", schedule.pk), sent | {"parameter-options": ""})
    schedule.refresh_from_db()
    assert json.loads(schedule.arguments_json)["name"] == "Eve"
    response = operator.post(url("schedule", schedule.pk), sent | {"parameter-times": "many"})
    assert response.status_code == 422
    assert "Mend the parameters." in response.content.decode()


# What else is done to it


def test_disabled_and_enabled(operator, schedule):
    assert operator.post(url("schedule_disable", schedule.pk)).url == url("job", schedule.job_id)
    schedule.refresh_from_db()
    assert (schedule.is_enabled, schedule.next_slot_at) == (False, None)
    page = opened(operator, url("job", schedule.job_id))
    assert "disabled" in page.text
    assert url("schedule_enable", schedule.pk) in page.posted_to
    operator.post(url("schedule_enable", schedule.pk))
    schedule.refresh_from_db()
    assert schedule.next_slot_at == START + timedelta(hours=14)


def test_to_delete_asks_first(operator, schedule):
    assert "At 03:00 every day (Europe/Berlin)" in text_of(operator, url("schedule_delete", schedule.pk))
    assert Schedule.objects.exists()
    response = operator.post(url("schedule_delete", schedule.pk), {"note": "no more"})
    assert response.url == url("job", schedule.job_id)
    assert not Schedule.objects.exists()
    assert AuditEntry.objects.get().note == "no more"


@pytest.mark.parametrize(
    ("permissions", "name"),
    [(["view_schedule", "delete_schedule"], "upcoming"), (["view_schedule", "delete_schedule", "view_job"], "job")],
)
def test_afterwards_a_person_comes_to_a_page_that_they_may_open(person, schedule, permissions, name):
    client = person(*permissions)
    response = client.post(url("schedule_delete", schedule.pk), follow=True)
    assert (response.status_code, response.resolver_match.url_name) == (200, name)


# Filling in the past


def times(first: str, last: str, **more) -> dict:
    return {"backfill-start": first, "backfill-until": last} | {f"backfill-{name}": text for name, text in more.items()}


def test_a_backfill_first_counts_and_then_runs(operator, schedule):
    make_run(schedule_id=schedule.pk, slot=START.replace(day=9, hour=2))
    address, sent = url("schedule_backfill", schedule.pk), times("2027-01-08T03:00", "2027-01-10T03:00", priority="7")
    response = operator.post(address, sent)
    page = Page(response.content.decode())
    assert "3 times of the schedule lie there. 2 have no run yet and will be run." in page.text
    assert "Run 2 times" in page.text
    assert Run.objects.count() == 1
    response = operator.post(address, filled_in(response.content.decode()) | {"backfill-note": "after the outage"})
    assert response.url == url("job", schedule.job_id)
    assert told(response) == ["2 runs of past slots stored."]
    runs = Run.objects.filter(priority=7).order_by("slot")
    assert [f"{run.slot:%d %H}" for run in runs] == ["08 02", "10 02"]
    assert AuditEntry.objects.get().note == "after the outage"


def test_other_times_than_those_that_were_counted_are_counted_anew(operator, schedule):
    address = url("schedule_backfill", schedule.pk)
    counted = filled_in(operator.post(address, times("2027-01-08", "2027-01-10")).content.decode())
    changed = counted | {"backfill-start": "2027-01-01T00:00"}
    assert "9 have no run yet" in Page(operator.post(address, changed).content.decode()).text
    assert not Run.objects.exists()


def test_the_past_only(operator, schedule):
    response = operator.post(url("schedule_backfill", schedule.pk), times("2027-01-08T03:00", "2027-02-08T03:00"))
    assert response.status_code == 422
    assert "Expected a moment that has passed" in response.content.decode()


# The job's page, the list of jobs, the page of a run


def test_the_page_of_a_job_tells_about_its_schedules(operator, schedule, start):
    start.move_to(START + timedelta(hours=14))
    look()
    Run.objects.update(state=State.FAILED.value, finished_at=START)
    Schedule.objects.update(missed_count=4, problem="It has a cold.")
    page = opened(operator, url("job", schedule.job_id))
    assert "At 03:00 every day (Europe/Berlin) ✗ It has a cold." in page.text
    assert "2027-01-14 03:00:00 Europe/Berlin ✗ failed 4" in page.text
    assert url("schedule", schedule.pk) in page.links


def test_a_rule_that_is_none_is_told_once(operator, schedule):
    Schedule.objects.update(expression="61 * * * *")
    look()
    table = text_of(operator, url("job", schedule.job_id)).partition("Schedules")[2].partition("Edit")[0]
    assert table.count("Expected 0 to 59 for the minute") == 1


def test_the_last_run_of_a_schedule_is_for_who_may_see_it(person, schedule):
    run = make_run(State.FAILED, schedule_id=schedule.pk, slot=START)
    page = opened(person("view_job", "view_schedule"), url("job", schedule.job_id))
    assert url("run", run.pk) not in page.links


def test_who_may_see_jobs_only_sees_no_schedule(person, schedule):
    client = person("view_job")
    assert "03:00" not in text_of(client, url("job", schedule.job_id))
    assert "Next time" not in text_of(client, url("jobs"))


def test_many_schedules_of_a_job_come_in_pages(operator, job):
    for minute in range(30):
        Schedule.objects.create(job=job, kind="cron", expression=f"{minute} 3 * * *", name=f"number {minute:02}")
    assert text_of(operator, url("job", job.pk)).count("number ") == 25
    second = text_of(operator, url("job", job.pk, schedules="2"))
    assert second.count("number ") == 5
    for wrong in ("x", "-1", "999999999999"):
        assert opened(operator, url("job", job.pk, schedules=wrong))


def test_the_list_of_jobs_tells_the_next_time_of_each(operator, job, schedule):
    Schedule.objects.create(job=job, kind="cron", expression="0 20 * * *")
    off = make_job("Off", is_enabled=False)
    Schedule.objects.create(job=off, kind="cron", expression="0 14 * * *")
    times = [each["datetime"] for each in opened(operator, url("jobs")).all("time")]
    assert times == ["2027-01-12T20:00:00+00:00"]


def test_a_run_tells_for_when_it_was_scheduled_by_the_clock_of_its_schedule(operator, schedule):
    run = make_run(schedule_id=schedule.pk, slot=START, scheduled_for=START)
    assert "Scheduled for 2027-01-12 13:00:00 Europe/Berlin" in text_of(operator, url("run", run.pk))
    schedule.delete()
    text = text_of(operator, url("run", run.pk))
    assert "Scheduled for 2027-01-12 12:00:00 UTC" in text
    assert "(it is gone)" in text


def test_a_run_that_stands_for_missed_slots_tells_how_many(operator, schedule):
    reason = '{"count": 12, "from": "2027-01-12T00:00:00Z", "until": "2027-01-12T11:00:00Z"}'
    run = make_run(State.SKIPPED, schedule_id=schedule.pk, reason_code="missed", reason_json=reason)
    text = text_of(operator, url("run", run.pk))
    assert "Nobody worked when its time came (12 times" in text
    assert "Not run 12 times, from 2027-01-12 01:00:00 Europe/Berlin to 2027-01-12 12:00:00 Europe/Berlin" in text


# JSON


def test_fire_times_as_json(operator):
    query = {"kind": "cron", "expression": "30 2 * * *", "time_zone": "Europe/Berlin", "count": "2"}
    told = operator.get(url("fire_times"), query).json()
    assert told["words"] == "At 02:30 every day (Europe/Berlin)"
    assert told["next"] == ["2027-01-13T02:30:00+01:00", "2027-01-14T02:30:00+01:00"]
    assert told["next_utc"] == ["2027-01-13T01:30:00Z", "2027-01-14T01:30:00Z"]
    assert len(told["remarks"]) == 2


def test_fire_times_are_ten_in_the_time_zone_of_the_site_where_nothing_else_is_said(operator):
    told = operator.get(url("fire_times"), {"kind": "cron", "expression": "@daily"}).json()
    assert (len(told["next"]), told["zone"]) == (10, timezone.get_default_timezone_name())


WRONG = {
    "expression": ({"kind": "cron", "expression": "* * * *"}, "Expected five fields"),
    "kind": ({"kind": "moon"}, "Select a valid choice"),
    "time_zone": ({"kind": "cron", "expression": "@daily", "time_zone": "Mars"}, "Expected a time zone"),
    "interval_seconds": ({"kind": "interval", "interval_seconds": "-5"}, "Expected a duration"),
    "anchor_at": ({"kind": "once", "anchor_at": "tomorrow"}, "Expected a date and a time"),
    "count": ({"kind": "cron", "expression": "@daily", "count": "101"}, "Expected a whole number from 1 to 100."),
}


@pytest.mark.parametrize("field", WRONG)
def test_a_wrong_rule_is_told_by_the_name_of_its_field(operator, field):
    query, expected = WRONG[field]
    response = operator.get(url("fire_times"), query)
    assert response.status_code == 422
    errors = response.json()["errors"]
    assert list(errors) == [field]
    assert errors[field].startswith(expected)


@pytest.mark.parametrize("count", ["0", "-1", "x", "१", "1e3", "", "9" * 5000])
def test_a_count_that_is_none(operator, count):
    response = operator.get(url("fire_times"), {"kind": "cron", "expression": "@daily", "count": count})
    assert (response.status_code, list(response.json()["errors"])) == (422, ["count"])
