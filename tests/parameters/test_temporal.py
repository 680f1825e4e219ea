"""Naive datetimes are in TIME_ZONE, whatever USE_TZ says, and come back aware."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone as django_timezone
from django.utils import translation

from tests.parameters.support import given_back, problem, stored, trip

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture(params=[True, False], ids=["USE_TZ", "no USE_TZ"])
def berlin(request, settings):
    settings.USE_TZ = request.param
    settings.TIME_ZONE = "Europe/Berlin"


@pytest.mark.usefixtures("berlin")
class TestNaive:
    @pytest.mark.parametrize(
        ("value", "form"),
        [
            (datetime(2026, 11, 1, 9, 30), "2026-11-01T09:30:00+01:00"),
            (datetime(2026, 7, 1, 9, 30), "2026-07-01T09:30:00+02:00"),
            (datetime(2026, 10, 25, 2, 30), "2026-10-25T02:30:00+02:00"),  # the first of the repeated hour
            (datetime(2026, 10, 25, 2, 30, fold=1), "2026-10-25T02:30:00+01:00"),
            (datetime(2026, 3, 29, 2, 30), "2026-03-29T02:30:00+01:00"),  # a time that was left out
        ],
    )
    def test_it_is_in_time_zone(self, value, form):
        assert stored(datetime, value) == form
        result = given_back(datetime, form)
        assert result.isoformat() == form
        assert result.utcoffset() is not None

    def test_another_current_time_zone_changes_nothing(self):
        with django_timezone.override("Asia/Tokyo"):
            assert stored(datetime, datetime(2026, 11, 1, 9, 30)) == "2026-11-01T09:30:00+01:00"

    def test_a_naive_text_is_refused(self):
        assert "got str '2026-11-01T09:30:00'" in problem(datetime, "2026-11-01T09:30:00")

    def test_what_is_stored_means_the_same_after_time_zone_was_changed(self, settings):
        form = stored(datetime, datetime(2026, 11, 1, 9, 30))
        settings.TIME_ZONE = "Asia/Tokyo"
        assert given_back(datetime, form) == datetime(2026, 11, 1, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 11, 1, 9, 30, tzinfo=BERLIN),
        datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
        datetime(1850, 1, 1, tzinfo=BERLIN),  # an offset with seconds
        datetime(2026, 11, 1, tzinfo=timezone(timedelta(hours=-12))),
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    ],
)
def test_an_aware_one_keeps_its_moment_and_offset(value):
    result = trip(datetime, value)
    assert result.isoformat() == value.isoformat()
    assert (result - datetime.min.replace(tzinfo=UTC)) == (value - datetime.min.replace(tzinfo=UTC))


def test_a_time_zone_without_an_offset_counts_as_none(settings):
    class Nowhere(tzinfo):
        def utcoffset(self, moment):
            return None

    settings.TIME_ZONE = "UTC"
    assert stored(datetime, datetime(2026, 11, 1, tzinfo=Nowhere())) == "2026-11-01T00:00:00+00:00"


def test_a_subclass_is_written_as_a_datetime_is():
    class Moment(datetime):
        def isoformat(self, *args):
            return "some other text"

    class Day(date):
        def isoformat(self):
            return "some other text"

    assert stored(datetime, Moment(2026, 11, 1, tzinfo=UTC)) == "2026-11-01T00:00:00+00:00"
    assert stored(date, Day(2026, 11, 1)) == "2026-11-01"


def test_the_locale_changes_nothing(settings):
    settings.USE_THOUSAND_SEPARATOR = True
    with translation.override("de"):
        assert stored(date, "2026-11-01") == "2026-11-01"
        assert stored(float, 1234.5) == 1234.5
        assert "expected a date" in problem(date, "01.11.2026")
        assert "got float 1234.5" in problem(int, 1234.5)
