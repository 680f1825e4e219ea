"""What a person is told about a rule before it is saved."""

from datetime import UTC, datetime

import pytest

from jobs.core.rule_error import RuleError
from jobs.models import Schedule
from jobs.preview import preview, preview_of

BERLIN = {"kind": "cron", "expression": "30 2 * * *", "time_zone": "Europe/Berlin"}
OCTOBER = datetime(2026, 10, 23, 12, tzinfo=UTC)


def test_the_next_times_are_by_the_clock_of_the_zone():
    shown = preview(BERLIN, OCTOBER, count=3)
    assert shown.words == "At 02:30 every day (Europe/Berlin)"
    assert shown.lines == [
        "Sat 2026-10-24 02:30:00 +02:00", "Sun 2026-10-25 02:30:00 +02:00", "Mon 2026-10-26 02:30:00 +01:00",
    ]  # fmt: skip
    assert [time.utcoffset() is not None for time in shown.times] == [True] * 3


def test_ten_times_are_shown():
    assert len(preview(BERLIN, OCTOBER).times) == 10


def test_changes_of_the_clocks_are_remarked():
    assert preview(BERLIN, OCTOBER).remarks == [
        "On 2026-10-25 02:30 comes twice: it fires at the first only.",
        "On 2027-03-28 the clocks skip 02:30: it fires once at 03:00 instead.",
    ]


def test_changes_before_the_start_are_not():
    start = datetime(2026, 11, 1, tzinfo=UTC)
    assert [remark[:13] for remark in preview(BERLIN | {"starts_at": start}, OCTOBER).remarks] == [
        "On 2027-03-28", "On 2027-10-31",
    ]  # fmt: skip


def test_as_json():
    assert preview(BERLIN, OCTOBER, count=1).as_json() == {
        "words": "At 02:30 every day (Europe/Berlin)",
        "zone": "Europe/Berlin",
        "next": ["2026-10-24T02:30:00+02:00"],
        "next_utc": ["2026-10-24T00:30:00Z"],
        "remarks": preview(BERLIN, OCTOBER).remarks,
    }


def test_what_ends_says_when_and_what_has_ended_says_so():
    end = datetime(2026, 10, 24, 12, tzinfo=UTC)
    shown = preview({"kind": "interval", "interval_seconds": 3600, "anchor_at": OCTOBER, "ends_at": end}, OCTOBER)
    assert shown.remarks == ["It ends at Sat 2026-10-24 12:00:00 +00:00."]
    shown = preview({"kind": "once", "anchor_at": OCTOBER}, OCTOBER)
    assert (shown.times, shown.remarks) == ([], ["It has no slot any more."])


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
def test_the_end_of_all_time(zone):
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    assert len(preview({"kind": "once", "anchor_at": last, "time_zone": zone}, OCTOBER).lines) == 1
    assert preview({**BERLIN, "time_zone": zone, "starts_at": last}, OCTOBER).remarks == ["It has no slot any more."]


def test_a_rule_that_is_none_names_its_field():
    for rule, field in (({"expression": "0 0 31 2 *"}, "expression"), ({"time_zone": "Asia/Hanoi"}, "time_zone")):
        with pytest.raises(RuleError) as caught:
            preview(BERLIN | rule, OCTOBER)
        assert caught.value.field == field


def test_a_schedule_is_previewed_by_its_columns():
    assert preview_of(Schedule(**BERLIN), OCTOBER) == preview(BERLIN, OCTOBER)
