"""The committed data is what its script makes."""

import csv
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from config.transactions import DATA, BadTransaction, by_day, read_transactions


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_script_makes_the_committed_files(tmp_path, hash_seed):
    script = DATA / "make_transactions.py"
    subprocess.run([sys.executable, script, tmp_path], check=True, timeout=60, env={"PYTHONHASHSEED": hash_seed})

    assert sorted(path.name for path in tmp_path.iterdir()) == ["planted_fraud.csv", "transactions.csv"]
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (DATA / path.name).read_bytes()


def test_thirty_days_of_about_five_thousand_payments_by_two_hundred_users():
    transactions = list(read_transactions())

    assert 4800 <= len(transactions) <= 5200
    assert [transaction.id for transaction in transactions] == list(range(1, len(transactions) + 1))
    assert all(before.at <= after.at for before, after in pairwise(transactions))
    assert len({transaction.user for transaction in transactions}) == 200
    assert len(by_day(transactions)) == 30


def test_nights_are_quiet():
    hours = Counter(transaction.at.hour for transaction in read_transactions())

    assert max(hours[hour] for hour in (0, 1, 2, 3)) * 20 < min(hours[hour] for hour in (10, 12, 16))


def test_every_kind_of_fraud_is_planted_more_than_once_and_each_user_once():
    with open(DATA / "planted_fraud.csv", newline="", encoding="utf-8") as file:
        planted = list(csv.DictReader(file))

    kinds = Counter(row["kind"] for row in planted)
    assert set(kinds) == {"impossible_travel", "card_testing", "unusual_amount"}
    assert min(kinds.values()) > 1
    assert len({row["user"] for row in planted}) == len(planted)


GOOD = "1,ann,card-1,2026-10-01T12:00:00Z,9.90,EUR,DE,Bean Street Berlin,coffee"


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ("9.90", "-9.90", "not above 0"),
        ("9.90", "nine", "InvalidOperation"),
        ("EUR", "XXX", "no exchange rate for XXX"),
        ("12:00:00Z", "12:00:00", "no time zone"),
        ("2026-10-01", "2026-13-01", "month"),
        (",coffee", "", "more or fewer values"),
        (",coffee", ",coffee,more", "more or fewer values"),
    ],
)
def test_a_bad_line_is_named(tmp_path, right, wrong, named):
    header = (DATA / "transactions.csv").read_text().partition("\n")[0]
    path = tmp_path / "some.csv"
    path.write_text("\n".join([header, GOOD, GOOD.replace(right, wrong), ""]))

    with pytest.raises(BadTransaction, match=rf"(?s)some\.csv, line 3: .*{named}"):
        list(read_transactions(path))
