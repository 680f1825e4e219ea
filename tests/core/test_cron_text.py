"""Which cron expressions and zones are understood, and what is said of the others."""

from unittest.mock import patch

import pytest
from cronsim import CronSim

from jobs.core.cron import Cron, read_zone
from jobs.core.cron_text import EXPRESSION_LENGTH
from jobs.core.rule_error import RuleError

# What is written, and what it is read as.
READ = {
    "a name": ("@daily", "0 0 * * *"),
    "a name in capitals": (" @Hourly ", "0 * * * *"),
    "a week up to Sunday": ("0 0 * * MON-SUN", "0 0 * * MON-7"),
    "Sunday to Sunday is a day": ("0 0 * * 0-SUN,SUN-SUN", "0 0 * * 0-SUN,SUN-SUN"),
    "small letters": ("0 0 * jan-mar fri-sun", "0 0 * jan-mar fri-7"),
    "a week from Sunday": ("0 0 * * SUN-SAT", "0 0 * * SUN-SAT"),
    "spaces": ("  0   0\t* *\n* ", "0 0 * * *"),
    "July is not the last": ("0 0 1 JUL/2 *", "0 0 1 JUL/2 *"),
    "the longest": (",".join(["0"] * 96) + " * * * *", ",".join(["0"] * 96) + " * * * *"),
}


@pytest.mark.parametrize(("text", "expression"), READ.values(), ids=READ)
def test_understood(text, expression):
    assert Cron.of(text, "UTC").expression == expression


# What is written, what the error says was expected, and what came.
REFUSED = {
    "day 0": ("* * 0 * *", "1 to 31, L or LW for the day of month", "'0'"),
    "month 0": ("* * * 0 *", "1 to 12 or JAN to DEC for the month", "'0'"),
    "minute 60": ("60 * * * *", "0 to 59 for the minute", "'60'"),
    "hour 24": ("* 24 * * *", "0 to 23 for the hour", "'24'"),
    "weekday 8": ("* * * * 8", "0 to 7 or SUN to SAT for the day of week", "'8'"),
    "three fields": ("* * *", "five fields: minute, hour, day of month, month, day of week", "'* * *'"),
    "seconds": ("* * * * * *", "five fields", "'* * * * * *'. For seconds take an interval"),
    "nothing": ("", "five fields", "''"),
    "a word": ("garbage", "five fields", "'garbage'"),
    "an unknown name": ("@reboot", "one of @hourly, @daily", "'@reboot'"),
    "full-width digits": ("\N{FULLWIDTH DIGIT FIVE} * * * *", "0 to 59 for the minute", "'\N{FULLWIDTH DIGIT FIVE}'"),
    "full-width digits before L": (
        "0 0 * * \N{FULLWIDTH DIGIT FIVE}L",
        "0 to 7 or SUN to SAT for the day of week",
        "'\N{FULLWIDTH DIGIT FIVE}L'",
    ),
    "a superscript": ("² * * * *", "0 to 59 for the minute", "'²'"),
    "U+0000": ("\x00 * * * *", "0 to 59 for the minute", r"'\x00'"),
    "a lone surrogate": ("\ud800 * * * *", "0 to 59 for the minute", r"'\ud800'"),
    "a range backwards": ("* 5-4 * * *", "0 to 23 for the hour", "'5-4'"),
    "a hole in a list": ("1,,2 * * * *", "0 to 59 for the minute", "'1,,2'"),
    "a step of 0": ("*/0 * * * *", "0 to 59 for the minute", "'*/0'"),
    "a step that is too long": (
        "*/60 * * * *",
        "a step of at most 59 for the minute",
        "'*/60'. For a longer rhythm take an interval",
    ),
    "a step of days that is too long": ("0 0 */32 * *", "a step of at most 31 for the day of month", "'*/32'"),
    "a step of the last day": ("0 0 L/2 * *", "more than one day of month to take a step of", "'L/2'"),
    "a step in a list": ("0 0 1,lw/2 * *", "more than one day of month to take a step of", "'lw/2'"),
    "a step of one": ("5-5/2 * * * *", "more than one minute to take a step of", "'5-5/2'"),
    "a step of one by two names": ("0 0 * * MON-1/2", "more than one day of week to take a step of", "'MON-1/2'"),
    "L for the weekday": ("0 0 * * L", "0 to 7 or SUN to SAT for the day of week", "'L'"),
    "a range of last ones": ("0 0 * * 1-5L", "0 to 7 or SUN to SAT for the day of week", "'1-5L'"),
    "a sixth Monday": ("0 0 * * MON#6", "0 to 7 or SUN to SAT for the day of week", "'MON#6'"),
    "a step of a list of last ones": ("0 0 L,5L/2 * *", "1 to 31, L or LW for the day of month", "'L,5L/2'"),
    "long": ("*" * 10_000, "at most 200 characters", "10,000"),
    "long, with five fields": ("0 0 * * " + "1," * 200 + "1", "at most 200 characters", "409"),
    "no text": (None, "a cron expression", "None"),
}


@pytest.mark.parametrize(("text", "expected", "got"), REFUSED.values(), ids=REFUSED)
def test_refused(text, expected, got):
    with pytest.raises(RuleError) as caught:
        Cron.of(text, "UTC")
    assert caught.value.field == "expression"
    assert str(caught.value).startswith(f"Expected {expected}")
    assert f", got {got}." in str(caught.value)
    assert len(str(caught.value)) < 300


NEVER = {
    "February 31": ("0 0 31 2 *", "UTC"),
    "February 30, when both must fit": ("0 0 30 2 */2", "UTC"),
    "June 31": ("* * 31 4,6 *", "UTC"),
    "an hour that the clocks skip each year": ("* 2 8-14 3 */7", "America/New_York"),
}


@pytest.mark.parametrize(("expression", "zone"), NEVER.values(), ids=NEVER)
def test_what_never_fires_is_refused_and_soon(expression, zone):
    steps = 0

    def counted(simulation, advance=CronSim.__next__):
        nonlocal steps
        steps += 1
        return advance(simulation)

    with patch.object(CronSim, "__next__", counted), pytest.raises(RuleError, match="never fires") as caught:
        Cron.of(expression, zone)
    assert caught.value.field == "expression"
    assert str(caught.value).startswith(expression)
    assert steps < 1000


def test_a_fixed_time_that_the_clocks_skip_each_year_fires_after_the_gap():
    assert Cron.of("30 2 8-14 3 */7", "America/New_York")


def test_the_text_is_read_before_the_zone():
    with pytest.raises(RuleError) as caught:
        Cron.of("garbage", "nowhere")
    assert caught.value.field == "expression"


NO_ZONES = {
    "empty": "",
    "a space": " ",
    "a path": "../../etc/passwd",
    "an absolute path": "/etc/passwd",
    "a folder": "Europe",
    "a folder with a slash": "Europe/",
    "another file of that folder": "zone.tab",
    "U+0000": "Europe/Berlin\x00",
    "a lone surrogate": "\ud800",
    "long": "x" * 100_000,
    "a city that has none": "Asia/Hanoi",
    "an offset": "+02:00",
    "None": None,
    "bytes": b"UTC",
    "a number": 5,
    "a list": [],
}


@pytest.mark.parametrize("name", NO_ZONES.values(), ids=NO_ZONES)
def test_no_zone(name):
    for call in (lambda: read_zone(name), lambda: Cron.of("@daily", name)):
        with pytest.raises(RuleError) as caught:
            call()
        assert caught.value.field == "time_zone"
        assert str(caught.value).startswith("Expected a time zone such as Europe/Berlin or UTC, got ")
        assert repr(name)[:40] in str(caught.value)
        assert len(str(caught.value)) < 200


def test_a_zone():
    assert read_zone("Europe/Berlin").key == "Europe/Berlin"


def test_the_limit_is_that_of_the_messages():
    assert EXPRESSION_LENGTH == 200
