"""What is typed into the form of a schedule: what is stored of it, and which field says what is wrong."""

import json
from datetime import UTC, datetime

import pytest
from django.utils import translation

from jobs.models import AuditEntry, Job, Schedule
from tests.admin.support import filled_in, make_schedule, page, schedule_fields, url

ARGUMENTS = '{"user":"Augusta","api_token":"s3cr3t"}'


@pytest.fixture
def job(db, clock) -> Job:
    return Job.objects.create(name="Report", task="tests.tasks.admin_with_secret", arguments_json=ARGUMENTS)


@pytest.fixture
def add(admin_client, job):
    """Send the form for a new schedule of the job."""
    return lambda **changes: admin_client.post(f"{url('schedule', 'add')}?job={job.pk}", schedule_fields(**changes))


def errors(response) -> dict[str, str]:
    """What is wrong, by field. Its page tells nothing else: nothing was stored."""
    assert response.status_code == 200
    assert not Schedule.objects.exists()
    return {name: " ".join(texts) for name, texts in response.context["adminform"].form.errors.items()}


def stored(response, **filters) -> Schedule:
    assert response.status_code == 302, response.context["adminform"].form.errors
    return Schedule.objects.get(**filters)


def test_a_schedule_is_stored_and_planned(add, job):
    schedule = stored(add(lateness_seconds="1:00:00", jitter_seconds="90", misfire="all", misfire_limit="5"))
    assert (schedule.job, schedule.name, schedule.is_enabled, schedule.expression) == (
        job, "Nightly", True, "30 2 * * *",
    )  # fmt: skip
    assert (schedule.lateness_seconds, schedule.jitter_seconds, schedule.misfire_limit) == (3600, 90, 5)
    assert schedule.next_slot_at == datetime(2027, 1, 1, 1, 30, tzinfo=UTC)
    assert schedule.arguments_json is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        *(({"expression": text}, "expression") for text in (
            "* * 0 * *", "* * * 0 *", "60 * * * *", "* * *", "* * * * * *", "٣ * * * *", "0 " * 5_000, "0 0 31 2 *",
            "garbage", "", "\x00", "@never",
        )),
        *(({"time_zone": text}, "time_zone") for text in ("Asia/Hanoi", "", "../etc/passwd", "\x00", "a" * 99)),
        *(({"kind": "interval", "interval_seconds": text}, "interval_seconds") for text in (
            "0", "-5", "0.5", "", "often", "nan", "inf", "9" * 30, "9" * 5_000, "146000 00:00:00", "3661 00:00:00",
            "-1 00:00:00", "\x00",
        )),
        ({"kind": "once", "anchor_at": ""}, "anchor_at"),
        ({"kind": "once", "anchor_at": "tomorrow"}, "anchor_at"),
        ({"kind": "once", "anchor_at": "2027-13-01T00:00"}, "anchor_at"),
        ({"kind": "once", "anchor_at": "0001-01-01T00:00"}, "anchor_at"),
        ({"starts_at": "x"}, "starts_at"),
        ({"starts_at": "2027-02-01T00:00", "ends_at": "2027-01-01T00:00"}, "ends_at"),
        ({"kind": "yearly"}, "kind"),
        ({"jitter_seconds": "-1"}, "jitter_seconds"),
        ({"lateness_seconds": "4000 00:00:00"}, "lateness_seconds"),
        ({"misfire": "x"}, "misfire"),
        ({"misfire_limit": "0"}, "misfire_limit"),
        ({"misfire_limit": "101"}, "misfire_limit"),
        ({"overlap": "x"}, "overlap"),
        ({"name": "n" * 201}, "name"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_at_its_field_and_nowhere_else(add, changes, field):
    assert errors(add(**changes)).keys() == {field}


@pytest.mark.parametrize(
    "changes",
    [
        {"expression": "@daily"}, {"expression": "0 0 * * MON-SUN"}, {"expression": "  0 0 * * *  "},
        {"kind": "interval", "interval_seconds": "3660 00:00:00"}, {"kind": "interval", "interval_seconds": "1"},
        {"kind": "once", "anchor_at": "9999-12-31T23:59Z", "time_zone": "Asia/Tokyo"},
        {"kind": "once", "anchor_at": "2020-01-01T00:00"}, {"ends_at": "0001-01-01T10:00"},
    ],
)  # fmt: skip
def test_what_can_be_saved(add, changes):
    stored(add(**changes))


def test_what_belongs_to_another_kind_is_neither_looked_at_nor_kept(add, admin_client):
    schedule = stored(add(interval_seconds="garbage", anchor_at="garbage"))
    address = url("schedule", "change", schedule.pk)
    admin_client.post(address, schedule_fields(kind="interval", interval_seconds="5:00", expression="garbage"))
    schedule.refresh_from_db()
    assert (schedule.expression, schedule.interval_seconds) == ("", 300)
    hand_made = schedule_fields(kind="once", anchor_at="2027-05-01T09:00")
    for name in ("expression", "interval_seconds"):
        del hand_made[name]
    admin_client.post(address, hand_made)
    schedule.refresh_from_db()
    assert (schedule.expression, schedule.interval_seconds) == ("", None)
    assert schedule.anchor_at == datetime(2027, 5, 1, 7, tzinfo=UTC)


def test_intervals_are_counted_from_now_where_nothing_else_is_said(add, clock):
    assert stored(add(kind="interval", interval_seconds="1:00:00")).anchor_at == clock.now()


def test_moments_are_by_the_clock_of_the_schedules_own_zone(add, admin_client, settings):
    for zone, uses_zones in (("Asia/Tokyo", True), ("America/New_York", False)):
        settings.TIME_ZONE, settings.USE_TZ = zone, uses_zones
        schedule = stored(add(starts_at="2027-07-01T09:00", ends_at="2027-07-02T09:00:30"))
        assert schedule.starts_at == datetime(2027, 7, 1, 7, tzinfo=UTC)
        address = url("schedule", "change", schedule.pk)
        sent = filled_in(page(admin_client, address))
        assert (sent["starts_at"], sent["ends_at"]) == (["2027-07-01T09:00"], ["2027-07-02T09:00:30"])
        admin_client.post(address, sent | {"time_zone": "UTC"})
        schedule.refresh_from_db()
        assert schedule.starts_at == datetime(2027, 7, 1, 9, tzinfo=UTC)
        schedule.delete()


@pytest.mark.parametrize("local", ["2027-03-28T02:30", "2027-10-31T02:30"])
def test_a_time_that_is_skipped_or_comes_twice_needs_its_offset(add, local):
    response = add(kind="once", anchor_at=local)
    assert "give the offset" in errors(response)["anchor_at"]
    assert f'type="text" name="anchor_at" value="{local}"' in response.content.decode()  # a picker takes no offset
    schedule = stored(add(kind="once", anchor_at=f"{local}+01:00"))
    assert schedule.anchor_at == datetime.fromisoformat(f"{local}+01:00")


def test_a_moment_that_needs_its_offset_is_shown_with_it(admin_client, job):
    moment = datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
    schedule = make_schedule(job, kind="once", anchor_at=moment)
    sent = filled_in(page(admin_client, url("schedule", "change", schedule.pk)))
    assert sent["anchor_at"] == ["2027-10-31T02:30:00+01:00"]


@pytest.mark.parametrize("language", ["en-us", "de"])
def test_every_language_stores_the_same(add, admin_client, settings, language):
    settings.USE_THOUSAND_SEPARATOR = True
    with translation.override(language):
        schedule = stored(
            add(kind="interval", interval_seconds="1 12:00:01.5", anchor_at="2027-02-01T09:00", misfire_limit="100")
        )
        before = Schedule.objects.values().get()
        sent = filled_in(page(admin_client, url("schedule", "change", schedule.pk)))
        assert admin_client.post(url("schedule", "change", schedule.pk), sent).status_code == 302
    assert (schedule.interval_seconds, schedule.misfire_limit) == (129_601.5, 100)
    assert schedule.anchor_at == datetime(2027, 2, 1, 8, tzinfo=UTC)
    assert Schedule.objects.values().get() == before


def test_saving_what_is_there_is_no_change(admin_client, job):
    own = '{"user":"Bartholomew","api_token":"s3cr3t-2","more":{"a":1.5}}'
    schedule = make_schedule(job, arguments_json=own, starts_at=datetime(2027, 1, 1, microsecond=7, tzinfo=UTC))
    before = Schedule.objects.values().get()
    sent = filled_in(page(admin_client, url("schedule", "change", schedule.pk)))
    assert admin_client.post(url("schedule", "change", schedule.pk), sent).status_code == 302
    after = Schedule.objects.values().get()
    assert {**after, "updated_at": None, "created_at": None} == {**before, "updated_at": None, "created_at": None}
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    "row",
    [
        {"expression": "garbage"}, {"time_zone": "Asia/Hanoi"}, {"time_zone": ""}, {"kind": "yearly"},
        {"kind": "interval", "interval_seconds": 0.0}, {"kind": "interval", "interval_seconds": -5.0},
        {"kind": "interval", "interval_seconds": 1e300},
    ],
)  # fmt: skip
def test_a_row_that_somebody_has_broken_by_sql_can_be_looked_at_and_mended(admin_client, job, row):
    schedule = make_schedule(job)
    Schedule.objects.update(**row)
    address = url("schedule", "change", schedule.pk)
    sent = filled_in(page(admin_client, address))
    assert admin_client.post(address, sent).status_code == 200
    assert page(admin_client, url("schedule"))
    assert admin_client.post(address, schedule_fields()).status_code == 302


# Parameters


def change(client, schedule, **changes):
    response = client.post(url("schedule", "change", schedule.pk), schedule_fields(**changes))
    schedule.refresh_from_db()
    return response


def test_parameters_of_its_own_begin_with_those_of_the_job(admin_client, job):
    schedule = make_schedule(job)
    html = page(admin_client, url("schedule", "change", schedule.pk))
    assert "s3cr3t" not in html
    assert filled_in(html)["parameter-user"] == ["Augusta"]
    change(admin_client, schedule, has_own_parameters="on", parameter__user="Bartholomew", parameter__api_token="")
    assert json.loads(schedule.arguments_json) == {"user": "Bartholomew", "api_token": "s3cr3t"}
    entry = AuditEntry.objects.get()
    assert json.loads(entry.details_json)["parameters"] == ["user"]
    assert "Bartholomew" not in entry.details_json


def test_they_are_given_up_for_those_of_the_job(admin_client, job):
    schedule = make_schedule(job, name="Nightly", arguments_json='{"user":"Bartholomew","api_token":"x"}')
    change(admin_client, schedule, parameter__user="")
    assert schedule.arguments_json is None
    assert json.loads(AuditEntry.objects.get().details_json) == {"fields": ["arguments_json"]}


def test_a_wrong_parameter_keeps_what_was_typed(admin_client, job):
    schedule = make_schedule(job, name="Before")
    typed = {"has_own_parameters": "on", "parameter__user": "Bartholomew", "parameter__more": "no JSON"}
    response = change(admin_client, schedule, **typed, parameter__api_token="s3cr3t-3")
    form = response.context["adminform"].form
    assert form.errors.keys() == {"has_own_parameters"}
    assert form.parameters.errors.keys() == {"more"}
    html = response.content.decode()
    assert "s3cr3t" not in html
    assert filled_in(html)["parameter-user"] == ["Bartholomew"]
    assert (schedule.name, schedule.arguments_json) == ("Before", None)


@pytest.mark.parametrize("own", [None, '{"user":"Bartholomew","api_token":"x"}'])
def test_who_may_not_see_values_neither_sees_nor_changes_them(staff, job, own):
    schedule = make_schedule(job, arguments_json=own)
    client = staff("view_schedule", "change_schedule", "add_schedule")
    html = page(client, url("schedule", "change", schedule.pk))
    assert not any(word in html for word in ("Augusta", "Bartholomew", "s3cr3t", "parameter-"))
    typed = {"has_own_parameters": "on", "parameter__user": "Mallory", "parameter__api_token": "x"}
    assert change(client, schedule, **typed).status_code == 302
    assert (schedule.name, schedule.arguments_json) == ("Nightly", own)
    client.post(f"{url('schedule', 'add')}?job={job.pk}", schedule_fields(**typed))
    assert Schedule.objects.latest("pk").arguments_json is None


def test_a_function_that_is_not_registered_leaves_them_as_they_are(admin_client, job):
    Job.objects.update(task="gone.tasks.lost")
    schedule = make_schedule(job, arguments_json='{"a":1}')
    assert "not registered" in page(admin_client, url("schedule", "change", schedule.pk))
    assert change(admin_client, schedule, has_own_parameters="on").status_code == 302
    assert (schedule.name, schedule.arguments_json) == ("Nightly", '{"a":1}')


@pytest.mark.parametrize("text", ["[1]", "null", "{", "5"])
def test_stored_parameters_that_are_no_object_can_be_mended(admin_client, job, text):
    schedule = make_schedule(job, arguments_json=text)
    typed = {"has_own_parameters": "on", "parameter__user": "Bartholomew", "parameter__api_token": "new"}
    assert page(admin_client, url("schedule", "change", schedule.pk))
    assert change(admin_client, schedule, **typed).status_code == 302
    assert json.loads(schedule.arguments_json) == {"user": "Bartholomew", "api_token": "new"}


def test_columns_without_a_field_cannot_be_written_by_a_hand_made_request(add, job):
    other = Job.objects.create(name="Other", task=job.task)
    schedule = stored(add(job=other.pk, problem="x", missed_count="7", arguments_json="{}", declared_in_code="on"))
    assert (schedule.job, schedule.problem, schedule.missed_count) == (job, "", 0)
    assert (schedule.arguments_json, schedule.declared_in_code) == (None, False)
