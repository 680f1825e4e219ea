"""The demo's card transactions: reading them, checking them, and writing what was counted from them."""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from uuid import uuid4

DATA = Path(__file__).resolve().parent / "data"
CENT = Decimal("0.01")


class BadTransaction(ValueError):
    """A row of the file is not a transaction."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """One payment by card: `at` is aware UTC, `amount` is in `currency`."""

    id: int
    user: str
    card: str
    at: datetime
    amount: Decimal
    currency: str
    country: str
    merchant: str
    category: str

    @property
    def euros(self) -> Decimal:
        """The amount in euros, rounded to cents."""
        return (self.amount * exchange_rates()[self.currency]).quantize(CENT)


@cache
def exchange_rates() -> dict[str, Decimal]:
    """What one unit of each currency is worth in euros."""
    with open(DATA / "exchange_rates.csv", newline="", encoding="utf-8") as file:
        return {row["currency"]: Decimal(row["euros"]) for row in csv.DictReader(file)}


def read_transactions(path: Path = DATA / "transactions.csv") -> Iterator[Transaction]:
    """The transactions of the file in its order, which is by time; BadTransaction names the first bad line."""
    with open(path, newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            try:
                yield parse(row)
            except (KeyError, ValueError, InvalidOperation) as error:
                raise BadTransaction(f"{path.name}, line {line}: {error!r} in {row}.") from error


def parse(row: dict[str, str]) -> Transaction:
    """One row of the file. Raises KeyError, ValueError or InvalidOperation for one that is not right."""
    if None in row or None in row.values():
        raise ValueError("there are more or fewer values than columns")
    typed = {"id": int(row["id"]), "at": datetime.fromisoformat(row["at"]), "amount": Decimal(row["amount"])}
    transaction = Transaction(**(row | typed))
    if transaction.at.tzinfo is None:
        raise ValueError(f"the time {row['at']} names no time zone")
    if transaction.amount <= 0:
        raise ValueError(f"the amount {row['amount']} is not above 0")
    if transaction.currency not in exchange_rates():
        raise ValueError(f"there is no exchange rate for {transaction.currency}")
    return transaction


def by_day(transactions: Iterable[Transaction]) -> dict[date, list[Transaction]]:
    """The transactions of each day (UTC), days in order."""
    days = defaultdict(list)
    for transaction in transactions:
        days[transaction.at.date()].append(transaction)
    return dict(sorted(days.items()))


def write_day_report(path: Path, transactions: Iterable[Transaction]) -> None:
    """Write number and sum of one day's transactions for each category and currency."""
    numbers, amounts = Counter(), Counter()
    for transaction in transactions:
        group = (transaction.category, transaction.currency)
        numbers[group] += 1
        amounts[group] += transaction.amount
    header = ("category", "currency", "transactions", "amount")
    write_csv(path, [header, *((*group, numbers[group], amounts[group]) for group in sorted(numbers))])


def write_csv(path: Path, rows: Iterable[Iterable]) -> None:
    """Write the file in one piece: readers see the old one or the new one, also when the process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with open(unfinished, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
