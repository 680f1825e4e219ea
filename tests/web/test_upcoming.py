"""The page of what comes in the next 24 hours, and of what should have come."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from jobs.core.states import State
from jobs.models import Schedule
from jobs.web import upcoming
from tests.schedules.support import every, look
from tests.web.support import Page, make_job, make_run, opened, url

NOON = datetime(2027, 1, 12, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def noon(clock):
    clock.move_to(NOON)
    return clock


def cron(expression: str, job=None, **columns) -> Schedule:
    rule = {"kind": "cron", "expression": expression}
    return Schedule.objects.create(job=job or make_job(f"Job {expression}"), **rule | columns)


def lines(page: Page) -> list[str]:
    """The times of the list, in its order."""
    return [each["datetime"] for each in page.all("time")]


def path_of(page: Page) -> list[str]:
    return [each["d"] for each in page.all("path")]


def test_a_tick_for_each_slot_at_its_place(operator):
    cron("0 13,18 * * *")
    page = opened(operator, url("upcoming"))
    assert path_of(page) == ["M60.00 4v16M360.00 4v16"]
    assert "2 times" in [each.get("aria-label") for each in page.all("svg")]


def test_the_list_has_the_same_slots_in_order(operator):
    cron("0 18 * * *")
    cron("0 13,19 * * *")
    page = opened(operator, url("upcoming"))
    assert [each[11:16] for each in lines(page)[1:]] == ["13:00", "18:00", "19:00"]


def test_a_slot_beyond_the_next_24_hours_is_not_shown(operator):
    cron("1 12 * * *")
    cron("0 12 14 1 *", name="later")
    page = opened(operator, url("upcoming"))
    assert "later" not in page.text
    assert path_of(page) == ["M1.00 4v16"]


def test_a_dense_rhythm_is_a_band_with_its_rhythm_in_words(operator):
    cron("* * * * *")
    every(7)
    page = opened(operator, url("upcoming"))
    assert "1,440 times, every minute" in page.text
    assert "12,342 times, every 7 seconds" in page.text
    assert path_of(page) == []
    assert [(each["x"], each["width"]) for each in page.all("rect")] == [("0.1167", "1439.7833"), ("1", "1439")]


def test_a_dense_rhythm_of_some_hours_is_drawn_at_these_hours_only(operator):
    cron("*/2 9-17 * * *")
    page = opened(operator, url("upcoming"))
    assert "270 times, every 2 minutes" in page.text
    assert [(each["x"], each["width"]) for each in page.all("rect")] == [("2", "356"), ("1260", "180")]


def test_a_band_ends_where_the_schedule_ends(operator):
    cron("* * * * *", starts_at=NOON + timedelta(hours=2), ends_at=NOON + timedelta(hours=5))
    page = opened(operator, url("upcoming"))
    assert [(each["x"], each["width"]) for each in page.all("rect")] == [("120", "180")]


@pytest.mark.parametrize("columns", [{"is_enabled": False}, {"ends_at": NOON + timedelta(minutes=5)}])
def test_what_will_not_fire_is_not_shown(operator, columns):
    cron("0 13 * * *", **columns)
    assert "Nothing is due" in opened(operator, url("upcoming")).text


def test_the_schedule_of_a_disabled_job_is_not_shown(operator):
    cron("0 13 * * *", make_job(is_enabled=False))
    assert "Nothing is due" in opened(operator, url("upcoming")).text


def test_a_slot_that_nobody_took_is_overdue(operator, noon):
    cron("0 13 * * *")
    noon.move_to(NOON + timedelta(hours=2))
    page = opened(operator, url("upcoming"))
    assert "overdue" in page.text
    assert path_of(page) == ["M1380.00 4v16"]


def test_a_slot_that_is_done_is_not_shown_again_by_a_clock_that_was_set_back(operator, noon):
    cron("0 * * * *")
    noon.move_to(NOON + timedelta(hours=1))
    look()
    noon.move_to(NOON + timedelta(minutes=30))
    assert path_of(opened(operator, url("upcoming")))[0].startswith("M90.00 ")


def test_delayed_runs_have_a_row_and_lines(operator):
    run = make_run(State.SCHEDULED, due_at=NOON + timedelta(hours=3))
    make_run(State.SCHEDULED, due_at=NOON + timedelta(hours=30))
    page = opened(operator, url("upcoming"))
    assert path_of(page) == ["M180.00 4v16"]
    assert "1 that waits for its time" in page.text
    assert f"#{run.pk}" in page.text


def test_delayed_and_missed_runs_are_for_who_may_see_all_runs(person):
    client = person("view_schedule")
    make_run(State.SCHEDULED, due_at=NOON + timedelta(hours=3), job_name="FOREIGN")
    missed("FOREIGN")
    page = opened(client, url("upcoming"))
    assert "FOREIGN" not in page.text
    assert "Not run" not in page.text


def missed(name: str = "Nightly", **columns):
    told = '{"count": 12, "from": "2027-01-12T01:00:00Z", "until": "2027-01-12T11:00:00Z"}'
    given = {"reason_code": "missed", "reason_json": told, "job_name": name, "scheduled_for": NOON, "schedule_id": 7}
    return make_run(State.SKIPPED, **given | columns)


def test_missed_slots_tell_how_many_when_and_why(operator):
    run = missed()
    missed("Other", reason_code="overlap")
    page = opened(operator, url("upcoming"))
    assert "Nightly (its schedule is gone) 12 2027-01-12 01:00:00 2027-01-12 11:00:00 Nobody worked" in page.text
    assert "The run before was unfinished" in page.text
    assert url("run", run.pk) in page.links


def test_what_was_skipped_for_another_reason_or_long_ago_is_not_among_the_missed(operator):
    missed("A week ago", finished_at=NOON - timedelta(days=7, seconds=1))
    missed("Too late", reason_code="deadline_passed")
    assert "No time of a schedule was missed." in opened(operator, url("upcoming")).text


@pytest.mark.parametrize("told", [None, "{}", '{"count": "x", "from": 5, "until": "yesterday"}'])
def test_a_missed_run_that_tells_little_is_shown_with_what_it_tells(operator, told):
    run = missed(reason_json=told)
    assert "? 2027-01-12 12:00:00 2027-01-12 12:00:00 Nobody worked" in opened(operator, url("upcoming")).text
    assert opened(operator, url("run", run.pk))


def test_a_schedule_that_cannot_fire_stands_first(operator):
    schedule = cron("0 13 * * *", name="broken")
    Schedule.objects.filter(pk=schedule.pk).update(expression="never", problem="No such time.", look_at=None)
    page = opened(operator, url("upcoming"))
    assert "broken No such time." in page.text
    assert page.text.index("No such time.") < page.text.index("The next 24 hours")


def test_a_rule_that_was_broken_a_moment_ago_does_not_fail_the_page(operator):
    Schedule.objects.filter(pk=cron("0 13 * * *").pk).update(expression="never")
    assert "Nothing is due" in opened(operator, url("upcoming")).text


def test_the_schedules_that_come_next_are_shown_and_the_others_counted(operator, monkeypatch):
    monkeypatch.setattr(upcoming, "MOST_ROWS", 2)
    for hour in (18, 13, 15, 20):
        cron(f"0 {hour} * * *")
    page = opened(operator, url("upcoming"))
    assert path_of(page) == ["M60.00 4v16", "M180.00 4v16"]
    assert "2 more have a time in the next 24 hours." in page.text


def test_a_dense_rhythm_is_one_line_of_the_list(operator):
    cron("* * * * *")
    cron("0 13 * * *")
    page = opened(operator, url("upcoming"))
    assert [each[11:16] for each in lines(page)[1:]] == ["12:01", "13:00"]
    assert "12:01:00 Job * * * * * Every minute (UTC): 1,440 times, every minute" in page.text


def test_the_list_ends_after_a_hundred_and_says_how_many_follow(operator):
    cron("*/20 * * * *")
    cron("1,31 * * * *")
    page = opened(operator, url("upcoming"))
    assert len(lines(page)) == 101
    assert "And 20 more." in page.text


AXES = {
    "UTC": (["Tue 12 Jan", "Wed 13 Jan"], ["15:00", "18:00", "21:00", "00:00", "03:00", "06:00", "09:00"]),
    "Asia/Kolkata": (["Tue 12 Jan", "Wed 13 Jan"], ["21:00", "00:00", "03:00", "06:00", "09:00", "12:00", "15:00"]),
}


@pytest.mark.parametrize("zone", AXES)
def test_hours_and_days_are_those_of_the_current_time_zone_which_is_named(operator, zone):
    days, hours = AXES[zone]
    cron("0 13 * * *")
    with timezone.override(zone):
        html = operator.get(url("upcoming")).content.decode()
    page = Page(html)
    assert f"All times are those of {zone}." in page.text
    assert " ".join([*days, "now", *hours]) in page.text


CHANGES = {
    "2027-03-27T12:00:00": "at 02:00 the clocks are set on by 1 hour: there is no time from 02:00 to 03:00.",
    "2027-10-30T12:00:00": "at 03:00 the clocks are set back by 1 hour: the time from 02:00 to 03:00 comes twice.",
}


@pytest.mark.parametrize("start", CHANGES)
def test_a_change_of_the_clocks_is_drawn_and_told(operator, clock, start):
    clock.move_to(datetime.fromisoformat(start).replace(tzinfo=UTC))
    cron("0 0 * * *")
    with timezone.override("Europe/Berlin"):
        page = opened(operator, url("upcoming"))
    assert CHANGES[start] in page.text
    assert [each for each in page.all("line") if each["class"] == "change"]
