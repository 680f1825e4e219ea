"""Makes the demo's data: `python config/data/make_transactions.py [folder]`.

Writes transactions.csv (thirty days of card payments) and planted_fraud.csv (which of them are fraud, of which kind).
The same files come out on every machine and Python version: all chance comes from `Random.random()` of one seed, and
there is no arithmetic in it that depends on the platform.

Payments that look like fraud and are none are in it on purpose: travellers, people who work across a border, a family
buying one ticket each, and large but ordinary purchases.
"""

import csv
import random
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
SEED = 20261001
FIRST_DAY = datetime(2026, 10, 1, tzinfo=UTC)
DAYS = 30
USERS = 200

# country: currency, hours ahead of UTC, cities
COUNTRIES = {
    "DE": ("EUR", 2, ("Berlin", "Hamburg", "Munich")),
    "FR": ("EUR", 2, ("Paris", "Lyon", "Nantes")),
    "CH": ("CHF", 2, ("Zurich", "Basel")),
    "PL": ("PLN", 2, ("Warsaw", "Krakow")),
    "SE": ("SEK", 2, ("Stockholm", "Malmo")),
    "GB": ("GBP", 1, ("London", "Leeds", "Bristol")),
    "US": ("USD", -4, ("New York", "Miami")),
    "BR": ("BRL", -3, ("Sao Paulo", "Recife")),
    "SG": ("SGD", 8, ("Singapore",)),
}
HOMES = ("DE", "DE", "DE", "FR", "FR", "GB", "GB", "CH", "PL", "SE")
DESTINATIONS = ("FR", "CH", "GB", "SE", "US")
FAR_AWAY = ("US", "BR", "SG")

# category: how often, the amount in percent of what the user usually pays, merchants
CATEGORIES = {
    "groceries": (30, 40, 150, ("Green Basket", "Corner Market", "Daily Foods", "Mill & Barn")),
    "restaurants": (20, 40, 130, ("Trattoria Sole", "The Copper Pot", "Noodle House", "Old Bakery")),
    "transport": (15, 5, 50, ("City Metro", "Park & Go", "Regional Rail")),
    "coffee": (12, 8, 18, ("Bean Street", "Third Cup")),
    "fuel": (8, 100, 200, ("Harbour Fuel", "Ring Road Station")),
    "household": (7, 50, 250, ("Home & Hearth", "Tool Shed")),
    "fashion": (5, 90, 300, ("Linen & Thread", "Northline")),
    "electronics": (2, 150, 400, ("Volt Store", "Pixel Depot")),
    "travel": (1, 200, 400, ("Blue Coast Hotels", "Wayfarer Trips")),
}
# How busy each hour of the day is, by local time: breakfast, lunch, the way home.
HOURS = (1, 1, 0, 0, 0, 1, 6, 14, 16, 12, 12, 18, 26, 22, 14, 14, 18, 26, 30, 24, 16, 10, 6, 3)
WEEKEND_HOURS = (3, 2, 1, 1, 0, 0, 1, 3, 8, 16, 24, 26, 24, 22, 20, 20, 18, 18, 20, 20, 16, 12, 8, 5)

FIRST_NAMES = "anna ben clara david elif felix greta hugo ines jonas karin leo maria nils olga paul rosa sam tara vera"
LAST_NAMES = "adler berg costa dubois evans fischer garcia haas ivers jansen keller lang moreau nowak olsen peters"


@dataclass
class User:
    name: str
    cards: list[str]
    home: str
    usual_cents: int  # euro cents of an ordinary payment
    activity: float  # chance of each of a day's three possible payments
    abroad: dict[int, str] = field(default_factory=dict)  # day: country; "" on the way
    works_in: str = ""  # another country, for people who work across the border


@dataclass
class Payment:
    user: User
    card: str
    at: datetime
    cents: int  # euro cents
    country: str
    category: str
    merchant: str
    case: int | None = None  # which planted case it belongs to


class Maker:
    """Draws users and their payments. What adds a case of fraud takes a user whose day is otherwise empty."""

    def __init__(self, seed=SEED):
        self.chance = random.Random(seed).random
        self.payments: list[Payment] = []
        self.cases: list[tuple[str, str]] = []  # (kind, user)

    def between(self, low: int, high: int) -> int:
        return low + int(self.chance() * (high - low + 1))

    def pick(self, items):
        return items[int(self.chance() * len(items))]

    def weighted(self, weights) -> int:
        mark = self.chance() * sum(weights)
        for index, weight in enumerate(weights):
            mark -= weight
            if mark < 0:
                return index
        return len(weights) - 1

    def shuffled(self, items) -> list:
        return [item for _, item in sorted(((self.chance(), index), item) for index, item in enumerate(items))]

    # People

    def users(self) -> list[User]:
        names = [f"{first}.{last}" for first in FIRST_NAMES.split() for last in LAST_NAMES.split()]
        return [self.user(number, name) for number, name in enumerate(self.shuffled(names)[:USERS])]

    def user(self, number: int, name: str) -> User:
        cards = [f"card-{number:03}-{letter}" for letter in ("ab" if self.chance() < 0.2 else "a")]
        user = User(name, cards, self.pick(HOMES), self.between(2500, 6000), self.between(18, 38) / 100)
        if number % 8 == 0:
            self.send_on_a_trip(user)
        elif number % 20 == 1:
            user.home, user.works_in = self.pick((("DE", "CH"), ("FR", "CH"), ("PL", "DE")))
        return user

    def send_on_a_trip(self, user: User) -> None:
        country = self.pick([country for country in DESTINATIONS if country != user.home])
        start, length = self.between(3, 18), self.between(3, 7)
        user.abroad = dict.fromkeys(range(start, start + length), country)
        user.abroad[start - 1] = user.abroad[start + length] = ""

    # Ordinary days

    def ordinary_day(self, user: User, day: int) -> None:
        country = user.abroad.get(day, user.home)
        is_weekend = (FIRST_DAY + timedelta(days=day)).weekday() >= 5
        if not country:
            return
        if user.works_in and not is_weekend:
            self.day_across_the_border(user, day)
            return
        hours = WEEKEND_HOURS if is_weekend else HOURS
        for _ in range(3):
            if self.chance() < user.activity:
                self.pay(user, self.moment(country, day, self.weighted(hours)), country)

    def day_across_the_border(self, user: User, day: int) -> None:
        for country, first_hour, last_hour in ((user.home, 6, 7), (user.works_in, 11, 13), (user.home, 18, 21)):
            if self.chance() < user.activity:
                self.pay(user, self.moment(country, day, self.between(first_hour, last_hour)), country)

    def family_tickets(self, user: User, day: int) -> None:
        at = self.moment(user.home, day, self.between(9, 17))
        for _ in range(self.between(4, 5)):
            self.pay(user, at, user.home, category="transport", cents=self.between(120, 240), card=user.cards[0])
            at += timedelta(seconds=self.between(15, 50))

    def moment(self, country: str, day: int, hour: int) -> datetime:
        local = FIRST_DAY + timedelta(days=day, hours=hour, seconds=self.between(0, 3599))
        return local - timedelta(hours=COUNTRIES[country][1])

    def pay(self, user, at, country, *, category="", cents=0, card="", case=None) -> None:
        names = list(CATEGORIES)
        category = category or names[self.weighted([CATEGORIES[name][0] for name in names])]
        _, low, high, merchants = CATEGORIES[category]
        cents = cents or user.usual_cents * self.between(low, high) // 100
        merchant = f"{self.pick(merchants)} {self.pick(COUNTRIES[country][2])}"
        card = card or self.pick(user.cards)
        self.payments.append(Payment(user, card, at, cents, country, category, merchant, case))

    # Fraud

    def new_case(self, kind: str, user: User) -> dict:
        self.cases.append((kind, user.name))
        return {"card": user.cards[0], "case": len(self.cases) - 1}

    def impossible_travel(self, user: User, day: int) -> None:
        case = self.new_case("impossible_travel", user)
        at = self.moment(user.home, day, self.between(9, 20))
        self.pay(user, at, user.home, category="groceries", **case)
        self.pay(user, at + timedelta(seconds=self.between(400, 2400)), self.pick(FAR_AWAY), category="fashion", **case)

    def card_testing(self, user: User, day: int) -> None:
        case = self.new_case("card_testing", user)
        at = self.moment(user.home, day, self.between(9, 20))
        for _ in range(self.between(4, 6)):
            self.pay(user, at, user.home, category="transport", cents=self.between(50, 195), **case)
            at += timedelta(seconds=self.between(40, 100))
        at += timedelta(seconds=self.between(300, 1800))
        self.pay(user, at, user.home, category="electronics", cents=user.usual_cents * self.between(18, 25), **case)

    def unusual_amount(self, user: User, day: int) -> None:
        case = self.new_case("unusual_amount", user)
        cents = user.usual_cents * self.between(4500, 7000) // 100
        self.pay(user, self.moment(user.home, day, self.between(9, 20)), user.home, cents=cents, **case)

    # All of it

    def make(self) -> None:
        users = self.users()
        at_home = self.shuffled([index for index, user in enumerate(users) if not user.abroad and not user.works_in])
        special = [self.impossible_travel] * 5 + [self.card_testing] * 4 + [self.unusual_amount] * 6
        special += [self.family_tickets] * 6
        days = {index: (add, self.between(4, 27)) for add, index in zip(special, at_home, strict=False)}
        for index, user in enumerate(users):
            add, special_day = days.get(index, (None, None))
            for day in range(DAYS):
                if day == special_day:
                    add(user, day)
                else:
                    self.ordinary_day(user, day)
        last = FIRST_DAY + timedelta(days=DAYS)
        self.payments = [payment for payment in self.payments if FIRST_DAY <= payment.at < last]  # whole days in UTC
        self.payments.sort(key=lambda payment: (payment.at, payment.card))


def read_rates() -> dict[str, int]:
    """How many euro cents one unit of each currency is worth."""
    with open(HERE / "exchange_rates.csv", newline="", encoding="utf-8") as file:
        return {row["currency"]: int(row["euros"].replace(".", "")) for row in csv.DictReader(file)}


def transaction_rows(payments, rates):
    yield "id", "user", "card", "at", "amount", "currency", "country", "merchant", "category"
    for number, payment in enumerate(payments, start=1):
        currency = COUNTRIES[payment.country][0]
        cents = max(payment.cents * 100 // rates[currency], 1)
        amount = f"{cents // 100}.{cents % 100:02}"
        at = payment.at.strftime("%Y-%m-%dT%H:%M:%SZ")
        where = (payment.country, payment.merchant, payment.category)
        yield number, payment.user.name, payment.card, at, amount, currency, *where


def fraud_rows(payments, cases):
    yield "kind", "user", "transactions"
    for case, (kind, user) in enumerate(cases):
        numbers = [str(number) for number, payment in enumerate(payments, start=1) if payment.case == case]
        yield kind, user, " ".join(numbers)


def write(path: Path, rows) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def main(folder: Path) -> None:
    maker = Maker()
    maker.make()
    write(folder / "transactions.csv", transaction_rows(maker.payments, read_rates()))
    write(folder / "planted_fraud.csv", fraud_rows(maker.payments, maker.cases))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
