"""Secrets in files: one text for all, readable by their owner only."""

import multiprocessing
import stat

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.private_file import read_or_create, replace


def test_what_is_kept_is_given_back(tmp_path):
    path = tmp_path / "new folder" / "secret"

    assert read_or_create(path, lambda: "one") == "one"
    assert read_or_create(path, lambda: "two") == "one"


def test_only_the_owner_can_read_it(tmp_path):
    path = tmp_path / "secret"
    read_or_create(path, lambda: "one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    replace(path, "two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_or_create(path, lambda: "three") == "two"


def test_nothing_else_is_left_in_the_folder(tmp_path):
    read_or_create(tmp_path / "secret", lambda: "one")
    replace(tmp_path / "secret", "two")

    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_who_comes_second_gets_what_the_first_one_made(tmp_path):
    """Both have seen that there is no file; the other one is done before this one writes."""
    path = tmp_path / "secret"

    def overtaken():
        read_or_create(path, lambda: "theirs")
        return "ours"

    assert read_or_create(path, overtaken) == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def _make_one(barrier, path, name, answers):
    barrier.wait(timeout=30)
    answers.put(read_or_create(path, lambda: name))


def test_many_processes_agree(tmp_path):
    context = multiprocessing.get_context("fork")
    for attempt in range(20):
        barrier, answers = context.Barrier(6), context.Queue()
        path = tmp_path / f"secret {attempt}"
        names = [f"process {number}" for number in range(6)]
        processes = [context.Process(target=_make_one, args=(barrier, path, name, answers)) for name in names]
        for process in processes:
            process.start()
        given = {answers.get(timeout=30) for _ in names}
        for process in processes:
            process.join(timeout=30)

        assert given == {path.read_text().strip()}


def test_an_empty_file_is_no_secret(tmp_path):
    path = tmp_path / "secret"
    path.touch()

    with pytest.raises(ImproperlyConfigured, match="secret is empty"):
        read_or_create(path, lambda: "one")
