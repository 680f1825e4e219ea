"""Schedules in the admin: the list, the preview, what is done to them, and their place on the page of a job."""

import re
from datetime import UTC, datetime

import pytest

from jobs.models import AuditEntry, Job, Schedule
from tests.admin.support import act, make_schedule, page, schedule_fields, told, url


@pytest.fixture
def job(db, clock) -> Job:
    return Job.objects.create(name="Report", task="tests.tasks.admin_greet", arguments_json='{"name":"Ada"}')


def entries() -> list[tuple]:
    return list(AuditEntry.objects.order_by("pk").values_list("verb", "object_type", "object_name", "actor_name"))


# The list


def test_the_list_tells_what_comes_next_and_what_is_wrong(admin_client, job):
    make_schedule(job, name="Nightly", missed_count=12_345)
    make_schedule(job, time_zone="Asia/Hanoi")
    html = page(admin_client, url("schedule"))
    assert "At 02:30 every day (Europe/Berlin)" in html
    assert "Fri 2027-01-01 02:30:00 +01:00" in html
    assert ">Europe/Berlin<" in html
    assert "got &#x27;Asia/Hanoi&#x27;" in html
    assert "12345" in html


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, {"good", "bad", "off"}),
        ({"problem": "yes"}, {"bad"}),
        ({"problem": "no", "is_enabled__exact": "1"}, {"good"}),
        ({"is_enabled__exact": "0"}, {"off"}),
        ({"kind__exact": "cron"}, {"good", "bad", "off"}),
        ({"kind__exact": "once"}, set()),
        ({"q": "good"}, {"good"}),
        ({"q": "Report"}, {"good", "bad", "off"}),
    ],
)
def test_filters_and_search(admin_client, job, parameters, expected):
    make_schedule(job, name="good")
    make_schedule(job, name="bad", expression="garbage")
    make_schedule(job, name="off", is_enabled=False)
    found = admin_client.get(url("schedule"), parameters).context["cl"].result_list
    assert {schedule.name for schedule in found} == expected


# Adding and the preview


def test_the_job_is_chosen_first(admin_client, job):
    for address in (url("schedule", "add"), f"{url('schedule', 'add')}?job=999999", f"{url('schedule', 'add')}?job=x"):
        assert f'<option value="{job.pk}">Report</option>' in page(admin_client, address)
        admin_client.post(address, schedule_fields())
    assert not Schedule.objects.exists()
    html = page(admin_client, f"{url('schedule', 'add')}?job={job.pk}")
    assert "Add schedule of Report" in html
    assert 'name="parameter-times"' in html


def preview(client, **changes) -> str:
    response = client.get(url("schedule", "preview"), schedule_fields(**changes))
    assert response.status_code == 200
    return response.content.decode()


def test_the_preview_tells_what_the_rule_means(admin_client, job):
    html = preview(admin_client)
    assert "At 02:30 every day (Europe/Berlin)" in html
    assert re.findall(r"<li>(.*?)</li>", html)[0] == "Fri 2027-01-01 02:30:00 +01:00"
    assert html.count("<li>") == 10
    assert "On 2027-03-28 the clocks skip 02:30: it fires once at 03:00 instead." in html
    assert "Every 5 minutes" in preview(admin_client, kind="interval", interval_seconds="5:00")
    assert "It has no slot any more." in preview(admin_client, kind="once", anchor_at="2020-01-01T00:00")


@pytest.mark.parametrize("changes", [{"expression": "60 * * * *"}, {"time_zone": "Asia/Hanoi"}, {"ends_at": "x"}])
def test_the_preview_tells_what_is_wrong_with_the_rule(admin_client, job, changes):
    html = preview(admin_client, **changes)
    assert "Expected" in html
    assert "errorlist" in html


def test_the_preview_needs_the_rule_only(admin_client, job):
    rule = {"kind": "interval", "interval_seconds": "90", "time_zone": "UTC"}
    response = admin_client.get(url("schedule", "preview"), rule)
    assert "Every 1 minute 30 seconds" in response.content.decode()
    assert admin_client.get(url("schedule", "preview")).status_code == 200


def test_the_preview_stands_in_the_page_after_a_failed_save(admin_client, job):
    schedule = make_schedule(job)
    assert "The next times" in page(admin_client, url("schedule", "change", schedule.pk))
    sent = schedule_fields(expression="0 5 * * *", misfire_limit="0")
    for address in (f"{url('schedule', 'add')}?job={job.pk}", url("schedule", "change", schedule.pk)):
        html = admin_client.post(address, sent).content.decode()
        assert "At 05:00 every day" in html
        assert "Fri 2027-01-01 05:00:00 +01:00" in html


def test_the_page_has_no_script_of_its_own(admin_client, job):
    html = page(admin_client, url("schedule", "change", make_schedule(job).pk))
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>|\son\w+=|javascript:", html)


def test_who_may_only_look_sees_the_rule_and_what_comes(staff, job):
    schedule = make_schedule(job, arguments_json='{"name":"Bartholomew"}')
    html = page(staff("view_schedule"), url("schedule", "change", schedule.pk))
    assert "Fri 2027-01-01 02:30:00 +01:00" in html
    assert "Bartholomew" not in html
    assert "hx-get" not in html
    client = staff("view_schedule", "view_arguments", username="sees")
    assert "Bartholomew" in page(client, url("schedule", "change", schedule.pk))


# What is done to schedules


def test_adding_changing_and_deleting_leave_audit_rows(admin_client, job):
    admin_client.post(f"{url('schedule', 'add')}?job={job.pk}", schedule_fields())
    schedule = Schedule.objects.get()
    admin_client.post(url("schedule", "change", schedule.pk), schedule_fields(expression="0 5 * * *"))
    admin_client.post(url("schedule", "delete", schedule.pk), {"post": "yes"})
    others = [make_schedule(job, name=name) for name in ("A", "B")]
    act(admin_client, "schedule", "delete_selected", *others, post="yes")
    done = [("add", "Nightly"), ("change", "Nightly"), ("delete", "Nightly"), ("delete", "A"), ("delete", "B")]
    assert entries() == [(verb, "schedule", name, "admin") for verb, name in done]
    assert AuditEntry.objects.get(verb="change").details_json == '{"fields": ["expression"]}'
    assert not Schedule.objects.exists()


def test_a_changed_rule_is_planned_from_now_on(admin_client, job):
    schedule = make_schedule(job)
    admin_client.post(url("schedule", "change", schedule.pk), schedule_fields(expression="0 5 * * *"))
    schedule.refresh_from_db()
    assert schedule.next_slot_at == datetime(2027, 1, 1, 4, tzinfo=UTC)


def test_enabling_and_disabling(admin_client, job):
    schedule = make_schedule(job, name="Nightly")
    for action, next_slot in (("enable", schedule.next_slot_at), ("disable", None), ("enable", schedule.next_slot_at)):
        act(admin_client, "schedule", action, schedule)
        schedule.refresh_from_db()
        assert schedule.next_slot_at == next_slot
    assert [verb for verb, *_ in entries()] == ["disable", "enable"]


def test_filling_in_begins_with_one_schedule(admin_client, job):
    one, other = make_schedule(job), make_schedule(job)
    assert act(admin_client, "schedule", "fill_in", one)["Location"] == url("schedule", "backfill", one.pk)
    assert told(act(admin_client, "schedule", "fill_in", one, other)) == [
        "Select one schedule only: each has slots of its own."
    ]


# The page of a job


def test_a_job_shows_its_schedules(admin_client, job):
    other = Job.objects.create(name="Other", task=job.task)
    mine = [make_schedule(job, name=f"Mine {number}") for number in range(3)]
    make_schedule(other, name="Not mine")
    html = page(admin_client, url("job", "change", job.pk))
    for schedule in mine:
        assert f'<a href="{url("schedule", "change", schedule.pk)}">{schedule}</a>: At 02:30 every day' in html
    assert "Not mine" not in html
    assert f'{url("schedule", "add")}?job={job.pk}"' in html
    assert "All its schedules" not in html


def test_of_many_schedules_it_shows_some_and_where_all_are(admin_client, job):
    for _ in range(21):
        make_schedule(job)
    html = page(admin_client, url("job", "change", job.pk))
    assert html.count("At 02:30 every day") == 20
    listed = f"{url('schedule')}?job__id__exact={job.pk}"
    assert f'<a href="{listed}">All its schedules</a>' in html
    assert admin_client.get(listed).context["cl"].result_count == 21


@pytest.mark.parametrize(
    ("permissions", "sees", "adds"),
    [((), False, False), (("view_schedule",), True, False), (("add_schedule",), False, True)],
)
def test_it_shows_them_as_far_as_this_person_may(staff, job, permissions, sees, adds):
    schedule = make_schedule(job)
    html = page(staff("view_job", *permissions), url("job", "change", job.pk))
    assert (url("schedule", "change", schedule.pk) in html) is sees
    assert (url("schedule", "add") + "?job=" in html) is adds
