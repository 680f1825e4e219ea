"""Three rules that find fraud in card transactions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from statistics import median

from config.transactions import Transaction

TRAVEL_TIME = timedelta(minutes=90)  # nobody is in another country sooner, border commuters included

TEST_CHARGE = Decimal(3)  # euros; a stolen card is tried with charges below it
TEST_CHARGES = 4  # so many of them ...
TEST_TIME = timedelta(minutes=15)  # ... within this time ...
TAKING_TIME = timedelta(minutes=60)  # ... and this long after them
TAKING = Decimal(300)  # euros; a charge from this on is the theft

UNUSUAL = 25  # times what the user pays in the middle


@dataclass(frozen=True, slots=True)
class FraudCase:
    """What one rule found: its kind, and the transactions that belong together."""

    kind: str
    user: str
    transactions: tuple[Transaction, ...]

    def __str__(self) -> str:
        numbers = ", ".join(str(transaction.id) for transaction in self.transactions)
        return f"{self.kind.replace('_', ' ')}: {self.user}, transaction {numbers}"

    def as_json(self) -> dict:
        return {"kind": self.kind, "user": self.user, "transactions": [each.id for each in self.transactions]}


def group_by_user(transactions: Iterable[Transaction]) -> dict[str, list[Transaction]]:
    """The transactions of each user by time, users in alphabetical order."""
    users = defaultdict(list)
    for transaction in sorted(transactions, key=lambda each: (each.at, each.id)):
        users[transaction.user].append(transaction)
    return dict(sorted(users.items()))


def find_fraud(of_user: list[Transaction]) -> Iterator[FraudCase]:
    """The cases among one user's transactions, which are ordered by time. A transaction belongs to one case at most."""
    explained = set()
    for rule in (impossible_travel, card_testing, unusual_amount):
        for found in rule(of_user):
            if explained.isdisjoint(found):
                explained.update(found)
                yield FraudCase(rule.__name__, found[0].user, tuple(found))


def impossible_travel(of_user: list[Transaction]) -> Iterator[list[Transaction]]:
    """One card in two countries, with less time between than the way takes."""
    for of_card in _by_card(of_user):
        for before, after in pairwise(of_card):
            if before.country != after.country and after.at - before.at < TRAVEL_TIME:
                yield [before, after]


def card_testing(of_user: list[Transaction]) -> Iterator[list[Transaction]]:
    """Some tiny charges to one card in a row, to see whether it works, and a large one soon after."""
    for of_card in _by_card(of_user):
        for index, taking in enumerate(of_card):
            if taking.euros >= TAKING:
                tests = _tests_before(of_card[:index], taking)
                if len(tests) >= TEST_CHARGES:
                    yield [*tests, taking]


def _tests_before(earlier: list[Transaction], taking: Transaction) -> list[Transaction]:
    """The tiny charges directly before `taking`: the last one close to it, all of them close together."""
    tests = []
    for charge in reversed(earlier):
        last = tests[0] if tests else charge
        is_near = taking.at - last.at <= TAKING_TIME and last.at - charge.at <= TEST_TIME
        if charge.euros >= TEST_CHARGE or not is_near:
            break
        tests.append(charge)
    return tests[::-1]


def unusual_amount(of_user: list[Transaction]) -> Iterator[list[Transaction]]:
    """An amount far outside of what the user usually pays."""
    usual = median(transaction.euros for transaction in of_user)
    for transaction in of_user:
        if transaction.euros > UNUSUAL * usual:
            yield [transaction]


def _by_card(of_user: list[Transaction]) -> Iterator[list[Transaction]]:
    for card in sorted({transaction.card for transaction in of_user}):
        yield [transaction for transaction in of_user if transaction.card == card]
