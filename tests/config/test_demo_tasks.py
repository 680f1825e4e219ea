"""The demo's task functions: what they leave and return. Called as the plain functions that they also are."""

import csv
import logging
from collections import Counter
from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import pytest

import jobs
from config import tasks
from config.transactions import DATA, read_transactions, write_csv
from jobs.registry import registry
from jobs.runtime.context import CurrentRun


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return tmp_path


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """The pauses that would be made, in seconds; none is."""
    made = []
    monkeypatch.setattr(tasks, "time", SimpleNamespace(sleep=made.append))
    return made


class ToldRun(CurrentRun):
    """A run that keeps what it is told."""

    should_stop = False

    def __init__(self):
        self.told = []

    def progress(self, done, total=None, message=""):
        self.told.append((done, total))

    def raise_if_cancelled(self):
        if self.cancel_requested:
            raise jobs.Cancelled


@pytest.fixture
def run(monkeypatch):
    """The run that a function believes to be in."""
    run = ToldRun()
    monkeypatch.setattr("jobs.current_run", lambda: run)
    return run


def rows(path) -> list[dict]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("name", "label", "priority"),
    [
        ("daily_report", "Daily report", 10),
        ("fraud_alert", "Fraud alert", 1),
        ("user_backfill", "User data backfill", 5),
        ("always_fails", "Always fails", 7),
        ("import_transactions", "Import transactions", 0),
        ("ask_the_bank", "Ask the bank", 0),
    ],
)
def test_they_are_registered_with_help(name, label, priority):
    task = registry.get(f"config.tasks.{name}")

    assert (task.label, task.options.priority) == (label, priority)
    assert task.help.endswith(".")


def test_the_import_counts_what_is_in_the_file():
    assert tasks.import_transactions() == {"transactions": len(list(read_transactions())), "users": 200}


def test_the_reports_add_up_to_the_file(var):
    expected_numbers, expected_amounts = Counter(), Counter()
    for row in rows(DATA / "transactions.csv"):
        key = (row["at"][:10], row["category"], row["currency"])
        expected_numbers[key] += 1
        expected_amounts[key] += Decimal(row["amount"])

    result = tasks.daily_report()

    reported = {
        (path.stem, row["category"], row["currency"]): (int(row["transactions"]), Decimal(row["amount"]))
        for path in (var / "reports").iterdir()
        for row in rows(path)
    }
    assert reported == {key: (expected_numbers[key], expected_amounts[key]) for key in expected_numbers}
    assert result == {"days": 30, "transactions": expected_numbers.total(), "folder": "reports"}


def test_a_report_made_again_is_the_same(var):
    tasks.daily_report()
    first = {path.name: path.read_bytes() for path in (var / "reports").iterdir()}
    (var / "reports" / "2026-10-03.csv").write_text("half a fi")

    tasks.daily_report()

    assert {path.name: path.read_bytes() for path in (var / "reports").iterdir()} == first


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "some.csv"
    write_csv(path, [["old"]])

    def breaks():
        yield ["new"]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_csv(path, breaks())
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_the_fraud_alert_returns_and_logs_the_planted_cases(caplog):
    planted = [
        {"kind": row["kind"], "user": row["user"], "transactions": [int(each) for each in row["transactions"].split()]}
        for row in rows(DATA / "planted_fraud.csv")
    ]
    with caplog.at_level(logging.WARNING, logger="config.tasks"):
        found = tasks.fraud_alert()

    assert sorted(found, key=lambda case: case["user"]) == sorted(planted, key=lambda case: case["user"])
    assert len(caplog.records) == len(planted)
    for case in planted:
        assert any(case["user"] in line and str(case["transactions"][-1]) in line for line in caplog.messages)


def test_the_backfill_adds_up_every_user(var):
    result = tasks.user_backfill()

    totals = rows(var / "user_totals.csv")
    expected = Counter()
    for transaction in read_transactions():
        expected[transaction.user] += transaction.euros
    assert {row["user"]: Decimal(row["euros"]) for row in totals} == expected
    assert result == {"users": 200, "euros": str(expected.total()), "file": "user_totals.csv"}


def test_the_backfill_keeps_to_its_parameters(var):
    since, minimum = date(2026, 10, 20), Decimal("150")

    tasks.user_backfill(since=since, minimum_amount=minimum)

    kept = [each for each in read_transactions() if each.at.date() >= since and each.euros >= minimum]
    totals = rows(var / "user_totals.csv")
    assert sum(int(row["transactions"]) for row in totals) == len(kept) > 0
    assert sum(Decimal(row["euros"]) for row in totals) == sum(each.euros for each in kept)


def test_a_backfill_of_nothing_is_empty(var):
    assert tasks.user_backfill(since=date(2030, 1, 1)) == {"users": 0, "euros": "0", "file": "user_totals.csv"}
    assert rows(var / "user_totals.csv") == []


def test_always_fails_fails_readably():
    with pytest.raises(RuntimeError, match="refused the connection"):
        tasks.always_fails()


def test_the_bank_answers_at_the_third_attempt(run):
    for run.attempt in (1, 2):
        with pytest.raises(ConnectionError, match="busy"):
            tasks.ask_the_bank()
    run.attempt = 3
    assert tasks.ask_the_bank() == "The bank has answered."
    assert tasks.ask_the_bank.options.max_attempts > 3


@pytest.mark.parametrize(
    ("task", "seconds"),
    [
        (tasks.import_transactions, (2, 3)),
        (tasks.daily_report, (3, 5)),
        (tasks.fraud_alert, (0.5, 2)),
        (tasks.user_backfill, (2, 4)),
    ],
)
def test_they_take_a_while_in_small_steps_and_tell_their_progress(run, pauses, task, seconds):
    task()

    assert seconds[0] <= sum(pauses) <= seconds[1]
    assert max(pauses) <= 0.2
    total = run.told[0][1]
    assert run.told == [(done, total) for done in range(total + 1)]
    assert total >= 10


SLOW = tasks.import_transactions, tasks.daily_report, tasks.fraud_alert, tasks.user_backfill


@pytest.mark.parametrize("task", SLOW)
def test_they_finish_without_pauses_when_they_are_asked_to_stop(run, pauses, monkeypatch, task):
    whole = task()
    pauses.clear()

    def sleep(seconds):
        pauses.append(seconds)
        run.should_stop = len(pauses) == 3

    monkeypatch.setattr(tasks, "time", SimpleNamespace(sleep=sleep))
    assert task() == whole
    assert len(pauses) == 3


@pytest.mark.parametrize("task", SLOW)
def test_they_end_when_somebody_asks_them_to(run, pauses, monkeypatch, task):
    def sleep(seconds):
        pauses.append(seconds)
        run.cancel_requested = len(pauses) == 3

    monkeypatch.setattr(tasks, "time", SimpleNamespace(sleep=sleep))
    with pytest.raises(jobs.Cancelled):
        task()
    assert len(pauses) == 3
