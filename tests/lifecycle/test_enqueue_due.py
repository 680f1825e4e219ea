"""When an enqueued run may start."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from jobs.core.order import STRICT_AGEING, order_key
from jobs.models import Run
from jobs.testing import drain
from tests.lifecycle.support import fresh, row
from tests.tasks import lifecycle_note

pytestmark = pytest.mark.django_db
NOW = datetime(2027, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def after(run_after):
    return fresh(lifecycle_note.using(run_after=run_after, priority=5).enqueue("x"))


@pytest.mark.parametrize("tz", [UTC, ZoneInfo("Asia/Kathmandu"), timezone(-HOUR)])
def test_a_moment_in_the_future(clock, tz):
    run = after((NOW + HOUR).astimezone(tz))
    assert (run.state, run.due_at, run.ready_at) == ("scheduled", NOW + HOUR, NOW + HOUR)
    assert run.order_key == order_key(5, NOW + HOUR, STRICT_AGEING)
    assert run.enqueued_at == NOW


def test_a_time_from_now(clock):
    run = after(HOUR)
    assert (run.state, run.due_at, run.ready_at) == ("scheduled", NOW + HOUR, NOW + HOUR)


@pytest.mark.parametrize("use_tz", [True, False])
def test_a_naive_moment_is_in_the_sites_time_zone(clock, settings, use_tz):
    settings.TIME_ZONE, settings.USE_TZ = "America/New_York", use_tz
    assert after(datetime(2027, 7, 1, 9)).due_at == datetime(2027, 7, 1, 13, tzinfo=UTC)
    assert after(datetime(2027, 12, 1, 9)).due_at == datetime(2027, 12, 1, 14, tzinfo=UTC)
    assert after(datetime(2027, 11, 7, 1, 30, fold=1)).due_at == datetime(2027, 11, 7, 6, 30, tzinfo=UTC)


@pytest.mark.parametrize("run_after", [NOW - HOUR, -HOUR, timedelta(0), NOW, datetime(1, 1, 1, tzinfo=UTC)])
def test_what_is_due_already_is_ready_from_its_enqueue_on(clock, run_after):
    run = after(run_after)
    assert (run.state, run.ready_at) == ("queued", NOW)
    assert run.due_at == (NOW + run_after if isinstance(run_after, timedelta) else run_after)
    assert run.order_key == order_key(5, NOW, STRICT_AGEING)


def test_a_past_moment_does_not_pass_what_was_enqueued_before(clock, notes):
    lifecycle_note.enqueue("first")
    clock.move(1)
    lifecycle_note.using(run_after=NOW - HOUR).enqueue("second")
    assert drain() == 2
    assert notes == ["first", "second"]


def test_the_last_moment_of_the_calendar(clock):
    last = datetime.max.replace(tzinfo=UTC)
    run = after(last)
    assert (run.due_at, run.ready_at, run.state) == (last, last, "scheduled")
    assert run.order_key < 2**63
    assert drain() == 0


@pytest.mark.parametrize(
    "run_after",
    [
        timedelta.max,
        timedelta(days=365 * 8000),
        timedelta.min,
        datetime(9999, 12, 31, 23, 30, tzinfo=timezone(-5 * HOUR)),
        datetime(1, 1, 1, tzinfo=timezone(5 * HOUR)),
        datetime.max,  # naive, in a TIME_ZONE west of Greenwich
        datetime.min,  # and east of it
    ],
    ids=str,
)
def test_beyond_the_calendar(clock, settings, run_after):
    settings.TIME_ZONE = "America/New_York" if run_after == datetime.max else "Asia/Tokyo"
    with pytest.raises(ValueError, match=r"run_after must lead to a moment in the years 1 to 9999 UTC, got .*datetime"):
        after(run_after)
    assert not Run.objects.exists()


def test_a_run_starts_when_its_time_has_come_and_not_before(clock, notes):
    later = lifecycle_note.using(run_after=HOUR).enqueue("later")
    before = row(later)
    clock.move(3599.999999)
    assert drain() == 0
    assert row(later) == before
    clock.move(0.000001)
    assert drain() == 1
    assert notes == ["later"]


def test_a_delayed_run_at_the_top_does_not_hold_up_the_others(clock, notes):
    lifecycle_note.using(priority=-100, run_after=HOUR).enqueue("urgent, later")
    lifecycle_note.using(priority=100).enqueue("now")
    assert drain() == 1
    clock.move(3600)
    lifecycle_note.using(priority=-99).enqueue("less urgent")
    assert drain() == 2
    assert notes == ["now", "urgent, later", "less urgent"]
