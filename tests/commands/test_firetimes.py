"""`manage.py firetimes`: times on stdout, words on stderr, no database."""

import io
from datetime import UTC, datetime

import pytest

from jobs.management.commands.firetimes import Command
from jobs.testing import FakeClock

NIGHTLY = ("30 2 * * *", "--zone", "Europe/Berlin")


@pytest.fixture
def fire_times(command):
    """Call it; the end has `words`, what stood on stderr."""

    def call(*arguments, **options):
        err = io.StringIO()
        ended = command("firetimes", *arguments, stderr=err, no_color=True, **options)
        ended.words = err.getvalue()
        return ended

    return call


def test_times_on_stdout_and_words_on_stderr(fire_times):
    ended = fire_times(*NIGHTLY, "--from", "2027-03-27T00:00", "--count", "3")
    assert ended.code == 0
    assert ended.output == "2027-03-27T01:30:00Z\n2027-03-28T01:00:00Z\n2027-03-29T00:30:00Z\n"
    assert ended.words == (
        "At 02:30 every day (Europe/Berlin).\n"
        "On 2027-03-28 the clocks skip 02:30: it fires once at 03:00 instead.\n"
        "On 2027-10-31 02:30 comes twice: it fires at the first only.\n"
        "On 2028-03-26 the clocks skip 02:30: it fires once at 03:00 instead.\n"
    )


def test_without_words(fire_times):
    ended = fire_times(*NIGHTLY, "--from", "2027-03-27", "--count", "1", "-v", "0")
    assert (ended.output, ended.words) == ("2027-03-27T01:30:00Z\n", "")


def test_the_zone_of_the_site_and_ten_times_from_now_on(fire_times, settings):
    settings.TIME_ZONE = "Asia/Kathmandu"
    with FakeClock() as clock:
        ended = fire_times("* * * * *")
    times = [datetime.fromisoformat(line) for line in ended.output.splitlines()]
    assert len(times) == 10
    assert 0 < (times[0] - clock.now()).total_seconds() <= 60
    assert ended.words == "Every minute (Asia/Kathmandu).\n"


# What is given to --from, and the next minute of a wildcard in Berlin.
STARTS = {
    "a local time": ("2027-03-27T00:00", "2027-03-26T23:01:00Z"),
    "with seconds": ("2027-03-27T00:00:59.5", "2027-03-26T23:01:00Z"),
    "a date": ("2027-03-27", "2027-03-26T23:01:00Z"),
    "UTC": ("2027-03-27T00:00Z", "2027-03-27T00:01:00Z"),
    "an offset": ("2027-03-27T00:00+05:45", "2027-03-26T18:16:00Z"),
    "one that is skipped: right after the gap": ("2027-03-28T02:30", "2027-03-28T01:01:00Z"),
    "one that comes twice: the first": ("2027-10-31T02:30", "2027-10-31T00:31:00Z"),
}


@pytest.mark.parametrize(("start", "first"), STARTS.values(), ids=STARTS)
def test_from(fire_times, start, first):
    assert fire_times("* * * * *", "--zone", "Europe/Berlin", "--from", start, "--count", "1").output == f"{first}\n"


def test_times_are_after_the_start_not_at_it(fire_times):
    assert fire_times("@daily", "--zone", "UTC", "--from", "2027-01-01", "--count", "1").output == (
        "2027-01-02T00:00:00Z\n"
    )


def test_a_thousand(fire_times):
    lines = fire_times("@daily", "--zone", "UTC", "--from", "2027-01-01", "--count", "1000").output.splitlines()
    assert (len(lines), lines[-1]) == (1000, "2029-09-27T00:00:00Z")


def test_the_end_of_the_calendar(fire_times):
    ended = fire_times("@yearly", "--zone", "UTC", "--from", "9998-06-01")
    assert (ended.code, ended.output) == (0, "9999-01-01T00:00:00Z\n")
    assert ended.words.endswith("The calendar ends in the year 9999.\n")


def test_the_first_years_have_four_digits(fire_times):
    assert fire_times("@yearly", "--zone", "UTC", "--from", "0005-06-01", "--count", "1").output == (
        "0006-01-01T00:00:00Z\n"
    )


# Arguments, and what the error says: what was expected, what came, and what to do.
REFUSED = {
    "an expression": (["garbage"], ["Expected five fields", "got 'garbage'", "Write another one"]),
    "never": (["0 0 31 2 *"], ["0 0 31 2 * never fires", "none of these months has such a day"]),
    "a zone": (
        ["@daily", "--zone", "Asia/Hanoi"],
        ["Expected a time zone such as Europe/Berlin", "got 'Asia/Hanoi'", "Name another one with --zone"],
    ),
    "no zone": (["@daily", "--zone", ""], ["Expected a time zone", "got ''"]),
    "a time": (
        ["@daily", "--from", "tomorrow"],
        ["Expected a time such as 2027-03-28T12:00 or a date for --from", "got 'tomorrow'", "Write another one"],
    ),
    "no time": (["@daily", "--from", ""], ["Expected a time", "got ''"]),
    "a day that there is not": (["@daily", "--from", "2027-02-30"], ["got '2027-02-30'"]),
    "a time outside of the calendar": (
        ["@daily", "--zone", "Asia/Tokyo", "--from", "0001-01-01"],
        ["got '0001-01-01', which is outside of the calendar"],
    ),
    "none": (["@daily", "--count", "0"], ["--count", "Expected 1 to 1000", "got '0'", "Ask for fewer"]),
    "too many": (["@daily", "--count", "1001"], ["Expected 1 to 1000", "got '1001'"]),
    "no number": (["@daily", "--count", "few"], ["Expected 1 to 1000", "got 'few'"]),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(fire_times, arguments, words):
    ended = fire_times(*arguments)
    assert (ended.code, ended.output) == (1, "")
    assert [word for word in words if word not in ended.error] == []


def test_it_needs_no_database_and_no_system_checks(fire_times):
    """Without the mark of pytest-django every query is refused."""
    assert Command.requires_system_checks == []
    assert fire_times("@daily").code == 0


def test_the_start_may_be_the_first_moment_in_utc(fire_times):
    ended = fire_times("@daily", "--zone", "Asia/Tokyo", "--from", "0001-01-01T00:00Z", "--count", "1")
    assert ended.code == 0
    assert datetime.fromisoformat(ended.output.strip()) > datetime(1, 1, 1, tzinfo=UTC)
