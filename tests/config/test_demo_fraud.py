"""The fraud rules find what was planted and nothing else, and each one where its limits are."""

import csv
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

import pytest

from config.fraud import TAKING, TAKING_TIME, TEST_CHARGE, TEST_TIME, TRAVEL_TIME, UNUSUAL, find_fraud, group_by_user
from config.transactions import DATA, Transaction, read_transactions

NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)
CENT = Decimal("0.01")
SECOND = timedelta(seconds=1)


def planted() -> set:
    with open(DATA / "planted_fraud.csv", newline="", encoding="utf-8") as file:
        return {(row["kind"], row["user"], row["transactions"]) for row in csv.DictReader(file)}


def found(transactions) -> set:
    return {
        (case.kind, case.user, " ".join(str(each.id) for each in case.transactions))
        for of_user in group_by_user(transactions).values()
        for case in find_fraud(of_user)
    }


def test_exactly_the_planted_cases_are_found():
    assert found(read_transactions()) == planted()


def test_each_planted_case_is_needed():
    """Without the decisive last transaction of a case, that case and no other is gone."""
    transactions = list(read_transactions())
    for case in planted():
        last = int(case[2].split()[-1])
        assert found(each for each in transactions if each.id != last) == planted() - {case}


class Card:
    """Builds transactions of one user."""

    def __init__(self):
        self.numbers = count(1)

    def pays(self, euros, at=NOON, country="DE", card="card-1", user="ann") -> Transaction:
        return Transaction(next(self.numbers), user, card, at, Decimal(euros), "EUR", country, "Shop", "coffee")


@pytest.fixture
def card():
    return Card()


@pytest.mark.parametrize(("gap", "kinds"), [(TRAVEL_TIME - SECOND, ["impossible_travel"]), (TRAVEL_TIME, [])])
def test_impossible_travel_ends_where_the_way_is_possible(card, gap, kinds):
    payments = [card.pays(20), card.pays(20, NOON + gap, "FR")]

    assert [case.kind for case in find_fraud(payments)] == kinds


def test_two_cards_may_be_in_two_countries(card):
    assert list(find_fraud([card.pays(20), card.pays(20, NOON + SECOND, "FR", card="card-2")])) == []


def charges_and_theft(card, *, charge, number, spread, wait, taking):
    """So many tiny charges spread over a time, then a large one, which beside the other payments is not unusual."""
    ordinary = [card.pays(100, NOON - timedelta(days=day)) for day in range(9, 0, -1)]
    tests = [card.pays(charge, NOON + spread * index / (number - 1)) for index in range(number)]
    return [*ordinary, *tests, card.pays(taking, NOON + spread + wait)]


JUST_FRAUD = {"charge": TEST_CHARGE - CENT, "number": 4, "spread": TEST_TIME, "wait": TAKING_TIME, "taking": TAKING}


def test_card_testing_is_one_case_of_all_its_charges(card):
    payments = charges_and_theft(card, **JUST_FRAUD)

    (case,) = find_fraud(payments)
    assert (case.kind, case.transactions) == ("card_testing", tuple(payments[-5:]))


@pytest.mark.parametrize(
    "harmless",
    [
        {"charge": TEST_CHARGE},
        {"number": 3},
        {"spread": TEST_TIME + 4 * SECOND},
        {"wait": TAKING_TIME + SECOND},
        {"taking": TAKING - CENT},
    ],
)
def test_card_testing_needs_each_of_its_marks(card, harmless):
    assert list(find_fraud(charges_and_theft(card, **(JUST_FRAUD | harmless)))) == []


@pytest.mark.parametrize(("euros", "kinds"), [(10 * UNUSUAL + CENT, ["unusual_amount"]), (10 * UNUSUAL, [])])
def test_an_amount_is_unusual_beside_what_the_user_usually_pays(card, euros, kinds):
    payments = [*(card.pays(10, NOON - timedelta(days=day)) for day in (3, 2, 1)), card.pays(euros)]

    assert [case.kind for case in find_fraud(payments)] == kinds


def test_a_transaction_is_told_once(card):
    """The theft after a card test is far outside of the habit as well."""
    payments = charges_and_theft(card, **(JUST_FRAUD | {"taking": 100 * UNUSUAL + 1}))

    assert [case.kind for case in find_fraud(payments)] == ["card_testing"]
