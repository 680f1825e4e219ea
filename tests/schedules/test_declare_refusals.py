"""What `jobs.schedule` and `register(schedule=…)` refuse, with a message that says what is wrong."""

from datetime import UTC, date, datetime, timedelta

import pytest

import jobs
from jobs.errors import ParameterError
from jobs.registry import registry


def of_its_own(): ...


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("garbage", "five fields"), ("0 0 31 2 *", ""), ("* * * * * *", ""), ("", ""), ("x" * 10_000, ""),
        (timedelta(0), "interval"), (timedelta(seconds=-5), "interval"), (timedelta(milliseconds=500), "interval"),
        (timedelta(days=4000), "ten years"), (datetime(2027, 1, 1), "time zone"), (5, "schedule"),
        (date(2027, 1, 1), "schedule"), (True, "schedule"), (b"@daily", "schedule"), ([[]], "schedule"),
        ([None], "schedule"), ({"rule": "@daily"}, ""),
    ],
)  # fmt: skip
def test_rules_that_are_none(rule, named):
    with pytest.raises((TypeError, ValueError), match=f"(?i){named}"):
        jobs.register(name="runtime.never", schedule=rule)(of_its_own)
    assert "runtime.never" not in registry


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("time_zone", "Asia/Hanoi"), ("time_zone", 5), ("time_zone", "../etc/passwd"),
        ("starts_at", datetime(2027, 1, 1)), ("starts_at", "2027-01-01T00:00:00Z"), ("starts_at", date(2027, 1, 1)),
        ("ends_at", datetime(2027, 1, 1)), ("ends_at", 5), ("ends_at", "tomorrow"),
        ("jitter", 5), ("jitter", None), ("jitter", timedelta(-1)), ("jitter", timedelta(days=4000)),
        ("lateness", 5), ("lateness", timedelta(-1)), ("lateness", timedelta(days=4000)),
        ("misfire", "nonsense"), ("misfire", None), ("overlap", "nonsense"), ("overlap", 1),
        ("misfire_limit", 0), ("misfire_limit", 1001), ("misfire_limit", True), ("misfire_limit", "5"),
        ("name", "x" * 201), ("name", 5), ("name", "NUL\0"),
        ("parameters", [1]), ("parameters", "n=1"),
    ],
)  # fmt: skip
def test_options_that_are_out_of_range(option, value):
    with pytest.raises((TypeError, ValueError), match=option.replace("time_zone", "time zone")) as refusal:
        jobs.schedule("@daily", **{option: value})
    assert len(str(refusal.value)) < 500


def test_an_end_before_the_start():
    at = datetime(2027, 1, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="end"):
        jobs.schedule("@daily", starts_at=at, ends_at=at - timedelta(seconds=1))


def test_an_option_that_there_is_not():
    with pytest.raises(TypeError, match="often"):
        jobs.schedule("@daily", often=True)


@pytest.mark.parametrize("parameters", [{}, {"n": "5"}, {"n": 5, "more": 1}, {"n": object()}])
def test_parameters_that_do_not_fit_the_function(parameters):
    def needs(n: int): ...

    with pytest.raises(ParameterError):
        jobs.register(name="runtime.never", schedule=jobs.schedule("@daily", parameters=parameters))(needs)
    assert "runtime.never" not in registry


def test_two_that_nobody_could_tell_apart():
    with pytest.raises(ValueError, match="different names"):
        jobs.register(name="runtime.never", schedule=["@daily", "@daily"])(of_its_own)
