import copy
import dataclasses

import pytest
from django.core.exceptions import ImproperlyConfigured

from jobs import conf
from jobs.conf import Settings, get_settings, problems
from jobs.core.order import STRICT_AGEING

NAN, INF = float("nan"), float("inf")


def test_without_a_setting_the_defaults_are_in_force(settings):
    del settings.JOBS
    get_settings.cache_clear()  # a deletion sends no signal
    assert get_settings() == Settings()
    settings.JOBS = {}
    assert get_settings() == Settings()


def test_the_defaults_are_right():
    assert problems({}) == []
    assert problems(dataclasses.asdict(Settings())) == []


def test_the_defaults_of_the_design():
    values = Settings()
    assert (values.HEARTBEAT_SECONDS, values.LOST_AFTER_SECONDS) == (10, 45)
    assert values.POLL_SECONDS <= 1
    assert (values.AGEING_SECONDS, values.QUEUES, values.AUTOSTART) == (None, None, None)


def test_what_is_given_is_in_force(settings):
    settings.JOBS = {"THREADS": 7, "QUEUES": ["a", "b"], "AGEING_SECONDS": 600}
    assert (get_settings().THREADS, get_settings().QUEUES) == (7, ("a", "b"))
    assert get_settings().ageing == 600_000_000


def test_strict_ageing(settings):
    settings.JOBS = {"AGEING_SECONDS": None}
    assert get_settings().ageing == STRICT_AGEING


def test_the_value_is_read_once_and_forgotten_when_the_setting_changes(settings):
    settings.JOBS = {"THREADS": 3}
    first = get_settings()
    assert get_settings() is first
    settings.TIME_ZONE = "UTC"
    assert get_settings() is first
    settings.JOBS = {"THREADS": 4}
    assert get_settings().THREADS == 4


def test_the_value_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        get_settings().THREADS = 9


def test_reading_changes_nothing_in_the_settings(settings):
    given = {"QUEUES": ["a"]}
    settings.JOBS = given
    get_settings()
    assert given == {"QUEUES": ["a"]}


@pytest.mark.parametrize(
    ("key", "hint"),
    [("THREAD", 'Did you mean "THREADS"?'), ("AGING_SECONDS", "AGEING_SECONDS"), ("zzz", "Known keys: AUTOSTART, ")],
)
def test_an_unknown_key(key, hint):
    ((message, told),) = problems({key: 1})
    assert message == f"JOBS has an unknown key {key!r}."
    assert hint in told


def test_a_key_that_is_no_text():
    ((message, hint),) = problems({5: 1})
    assert "unknown key 5" in message
    assert "Known keys" in hint


@pytest.mark.parametrize("given", [None, [], "THREADS=4", 4, (("THREADS", 4),)])
def test_the_setting_is_no_dict(given, settings):
    ((message, hint),) = problems(given)
    assert f"must be a dict, got {type(given).__name__}" in message
    assert 'JOBS = {"THREADS": 4}' in hint
    settings.JOBS = given
    with pytest.raises(ImproperlyConfigured, match="must be a dict"):
        get_settings()


NO_SECONDS = ["5", None, True, NAN, INF, -1, [1], 1j, 1_000_001, 10**400]
GOOD_AND_BAD = {
    "AUTOSTART": ([None, True, False], [1, 0, "yes", "False", []]),
    "EXECUTOR": (["threads", "processes"], ["celery", None, "", ["threads"]]),
    "THREADS": ([1, 64, 1000], [0, -1, 1001, True, 1.0, "4", None]),
    "QUEUES": ([None, ["a"], ("a", "b")], ["a", [], [""], [1], [None], {"a"}, {"a": 1}]),
    "AGEING_SECONDS": ([None, 0.001, 600, 4e9], [0, 0.0009, 4.1e9, "600", True, NAN, INF, -600]),
    "POLL_SECONDS": ([0.001, 1, 1_000_000], [0, *NO_SECONDS]),
    "NOTIFY": ([True, False], [None, 1, 0, "yes", []]),
    "HEARTBEAT_SECONDS": ([0.1, 10, 15], [0, *NO_SECONDS]),
    "LOST_AFTER_SECONDS": ([30, 45.5, 1_000_000], [0, *NO_SECONDS]),
    "GRACE_SECONDS": ([0, 0.5, 1_000_000], NO_SECONDS),
    "MAX_LOG_BYTES": ([1024, 4_194_304], [4_194_305, 1023, 0, -1, True, 2048.0, "2048", None]),
    "MAX_RESULT_BYTES": ([1024, 4_194_304], [4_194_305, 1023, 0, -1, True, 2048.0, "2048", None]),
    "PROCESS_RUNS": ([1, 1000, 10**9], [0, -1, True, 1.0, "9", None]),
    "PROCESS_MEMORY_BYTES": ([None, 67_108_864, 10**12], [67_108_863, 0, -1, True, 1e9, "1000000000"]),
    "CAPTURE_PRINTS": ([None, True, False], [1, 0, "yes", []]),
    "COMMANDS": ([[], (), ["clearsessions"], ["dumpdata 'a b'"]], [None, "check", [""], [" "], [5], ["--x"], ["a 'b"]]),
}


def test_every_key_is_tried_here():
    assert set(GOOD_AND_BAD) == {field.name for field in dataclasses.fields(Settings)} == set(conf._RULES)


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, (good, _) in GOOD_AND_BAD.items() for value in good])
def test_a_good_value(key, value, settings):
    assert problems({key: value}) == []
    settings.JOBS = {key: copy.copy(value)}
    assert getattr(get_settings(), key) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, (_, bad) in GOOD_AND_BAD.items() for value in bad])
def test_a_bad_value(key, value, settings):
    ((message, hint),) = problems({key: value})
    assert message.startswith(f'JOBS["{key}"] must be ')
    assert message.endswith(f", got {value!r}.")
    assert hint == f"The default is {getattr(Settings(), key)!r}."
    settings.JOBS = {key: value}
    with pytest.raises(ImproperlyConfigured, match=key):
        get_settings()


@pytest.mark.parametrize(
    ("heartbeat", "lost_after", "is_right"), [(10, 30, True), (10, 29.9, False), (15, 45, True), (15.1, 45, False)]
)
def test_lost_means_that_several_signs_of_life_are_missing(heartbeat, lost_after, is_right):
    found = problems({"HEARTBEAT_SECONDS": heartbeat, "LOST_AFTER_SECONDS": lost_after})
    assert (found == []) == is_right
    for message, hint in found:
        assert f"LOST_AFTER_SECONDS ({lost_after:g})" in message
        assert f"HEARTBEAT_SECONDS ({heartbeat:g})" in message
        assert "Raise LOST_AFTER_SECONDS" in hint


def test_one_of_the_two_is_judged_with_the_default_of_the_other():
    assert problems({"HEARTBEAT_SECONDS": 16}) != []
    assert problems({"LOST_AFTER_SECONDS": 20}) != []


def test_every_problem_is_told_at_once(settings):
    settings.JOBS = {"THREADS": 0, "THREDS": 2, "POLL_SECONDS": "1"}
    assert len(problems(settings.JOBS)) == 3
    with pytest.raises(ImproperlyConfigured) as caught:
        get_settings()
    for part in ('JOBS["THREADS"]', "'THREDS'", 'Did you mean "THREADS"?', 'JOBS["POLL_SECONDS"]'):
        assert part in str(caught.value)
