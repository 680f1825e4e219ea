"""The field of moments: aware UTC in Python, UTC in the column, whatever the settings say."""

from datetime import UTC, datetime, timedelta, timezone
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, connections
from hypothesis import given
from hypothesis import strategies as st

from jobs.lifecycle.database import alias
from jobs.models import SiteState

pytestmark = pytest.mark.django_db
NEW_YORK = ZoneInfo("America/New_York")
NOON = datetime(2027, 6, 1, 12, 30, 15, 123456, tzinfo=UTC)


def keep(moment, key="k"):
    SiteState.objects.update_or_create(pk=key, defaults={"updated_at": moment})
    return SiteState.objects.get(pk=key).updated_at


def column(key="k"):
    with connection.cursor() as cursor:
        key_column = connection.ops.quote_name("key")
        cursor.execute(f"SELECT CAST(updated_at AS CHAR(40)) FROM jobs_sitestate WHERE {key_column} = %s", [key])
        return cursor.fetchone()[0].rstrip()  # PostgreSQL fills it up with spaces


@pytest.fixture(params=[(True, "UTC"), (True, "America/New_York"), (False, "America/New_York")], ids=str, autouse=True)
def zone(request, settings):
    """Every test here holds whatever these two say."""
    settings.USE_TZ, settings.TIME_ZONE = request.param


@pytest.mark.parametrize("tz", [UTC, NEW_YORK, timezone(timedelta(hours=5, minutes=45))])
def test_aware_in_aware_utc_out(tz):
    back = keep(NOON.astimezone(tz))
    assert back == NOON
    assert back.tzinfo is UTC
    assert column() == "2027-06-01 12:30:15.123456"


def test_the_repeated_hour_stays_apart():
    first, second = (datetime(2027, 11, 7, 1, 30, tzinfo=NEW_YORK, fold=fold) for fold in (0, 1))
    assert keep(second, "second") - keep(first, "first") == timedelta(hours=1)
    assert list(SiteState.objects.order_by("-updated_at").values_list("pk", flat=True)) == ["second", "first"]
    assert SiteState.objects.get(updated_at=second).pk == "second"


def test_the_zone_of_the_connection_does_not_matter():
    with patch.dict(vars(connections[alias()]), timezone=NEW_YORK):
        assert connection.timezone is NEW_YORK
        assert keep(NOON) == NOON
    assert column() == "2027-06-01 12:30:15.123456"


@pytest.mark.parametrize("day", [NOON.date(), "2027-06-01"])
def test_a_day_is_no_moment(day):
    with pytest.raises(ValidationError):
        keep(day)


def test_naive_is_refused():
    with pytest.raises(ValidationError, match="Expected a datetime with a time zone"):
        keep(datetime(2027, 6, 1, 12))
    with pytest.raises(ValidationError, match="time zone"):
        SiteState.objects.filter(updated_at__gt=datetime(2027, 6, 1, 12)).exists()
    with pytest.raises(ValidationError, match="time zone"):
        keep("2027-06-01 12:00")


def test_text_with_an_offset_is_a_moment():
    assert keep("2027-06-01T14:30:15.123456+02:00") == NOON


def test_null():
    assert keep(None) is None
    assert SiteState.objects.get(updated_at__isnull=True).pk == "k"
    assert SiteState.objects.get(updated_at=None).pk == "k"


def test_lookups_and_queries():
    for hour in range(4):
        keep(NOON + timedelta(hours=hour), str(hour))
    two = (NOON + timedelta(hours=2)).astimezone(NEW_YORK)
    named = SiteState.objects.order_by("pk").values_list("pk", flat=True)
    assert list(named.filter(updated_at__lte=two)) == ["0", "1", "2"]
    assert list(named.filter(updated_at__gt=two)) == ["3"]
    assert list(named.filter(updated_at__in=[NOON, two])) == ["0", "2"]
    assert list(named.filter(updated_at__range=(NOON, two))) == ["0", "1", "2"]
    assert SiteState.objects.values_list("updated_at", flat=True).earliest("updated_at") == NOON
    assert named.filter(updated_at=two).update(updated_at=NOON) == 1


def test_bulk_and_refresh():
    SiteState.objects.bulk_create([SiteState(pk="bulk", updated_at=NOON.astimezone(NEW_YORK))])
    row = SiteState(pk="bulk")
    row.refresh_from_db()
    assert (row.updated_at, row.updated_at.tzinfo) == (NOON, UTC)


def test_the_edges_of_the_calendar_keep_their_order():
    moments = [datetime(1, 1, 1, tzinfo=UTC), datetime(999, 1, 1, tzinfo=UTC), NOON, datetime.max.replace(tzinfo=UTC)]
    assert [keep(moment, f"{number}") for number, moment in enumerate(moments)] == moments
    assert list(SiteState.objects.order_by("updated_at").values_list("pk", flat=True)) == ["0", "1", "2", "3"]


@given(st.lists(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(NEW_YORK)), max_size=4))
def test_the_columns_order_is_the_moments_order(moments):
    field = SiteState._meta.get_field("updated_at")
    stored = [field.get_db_prep_value(moment, connection) for moment in moments]
    apart = sorted(moments, key=lambda moment: moment.astimezone(UTC))
    assert [field.get_db_prep_value(moment, connection) for moment in apart] == sorted(stored)
