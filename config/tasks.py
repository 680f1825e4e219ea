"""Task functions of the demo. What they count and find is in `transactions.py` and `fraud.py`.

Each can be run again after its process was killed: it reads the same file and replaces its own output.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal

from django.conf import settings

import jobs
from config.fraud import find_fraud, group_by_user
from config.transactions import by_day, read_transactions, write_csv, write_day_report

logger = logging.getLogger(__name__)


@jobs.register(label="Import transactions")
def import_transactions() -> dict:
    """Check every line of the transactions file, as an import would."""
    transactions = list(read_transactions())
    numbers, users = set(), set()
    for chunk in at_a_pace(chunks(transactions, 200), seconds=2.5, message="Checking"):
        for transaction in chunk:
            if transaction.id in numbers:
                raise ValueError(f"Transaction {transaction.id} is in the file twice.")
            numbers.add(transaction.id)
            users.add(transaction.user)
    return {"transactions": len(numbers), "users": len(users)}


# While the demo is switched off it misses its times: that is shown, and not caught up with.
@jobs.register(label="Daily report", priority=10, schedule=jobs.schedule("0 6 * * *", name="mornings", misfire="skip"))
def daily_report() -> dict:
    """Write a report for every day: payments by category and currency."""
    days = by_day(read_transactions())
    for day in at_a_pace(list(days), seconds=4, message="Writing reports"):
        write_day_report(settings.VAR_DIR / "reports" / f"{day}.csv", days[day])
    count = sum(len(transactions) for transactions in days.values())
    return {"days": len(days), "transactions": count, "folder": "reports"}


@jobs.register(
    label="Fraud alert",
    priority=1,
    schedule=jobs.schedule(timedelta(minutes=10), name="every ten minutes", misfire="skip"),
)
def fraud_alert() -> list[dict]:
    """Find payments that look like fraud and report each case."""
    users = list(group_by_user(read_transactions()).values())
    cases = []
    for chunk in at_a_pace(chunks(users, 10), seconds=1, message="Looking at users"):
        for of_user in chunk:
            for case in find_fraud(of_user):
                logger.warning("Fraud: %s", case)
                cases.append(case.as_json())
    return cases


@jobs.register(label="User data backfill", priority=5)
def user_backfill(since: date | None = None, minimum_amount: Decimal = Decimal("0")) -> dict:
    """Recompute every user's total in euros.

    Args:
        since: The first day, in UTC. All days when it is missing.
        minimum_amount: In euros. Smaller payments are left out.
    """
    users = group_by_user(
        transaction
        for transaction in read_transactions()
        if (since is None or transaction.at.date() >= since) and transaction.euros >= minimum_amount
    )
    rows = []
    for chunk in at_a_pace(chunks(list(users), 10), seconds=3, message="Adding up users"):
        rows += [(user, len(users[user]), sum(each.euros for each in users[user])) for user in chunk]
    write_csv(settings.VAR_DIR / "user_totals.csv", [("user", "transactions", "euros"), *rows])
    total = sum((euros for _, _, euros in rows), Decimal(0))
    return {"users": len(rows), "euros": str(total), "file": "user_totals.csv"}


@jobs.register(label="Always fails", priority=7)
def always_fails() -> None:
    """Fail on purpose, to show what a failed run looks like."""
    raise RuntimeError("The bank's server refused the connection. (This demo function fails every time.)")


@jobs.register(label="Ask the bank", max_attempts=4, backoff=timedelta(seconds=5), retry_on=ConnectionError)
def ask_the_bank() -> str:
    """Ask a service that answers at the third attempt, to show what retries look like."""
    attempt = jobs.current_run().attempt or 1
    logger.info("Attempt %s", attempt)
    if attempt < 3:
        raise ConnectionError("The bank's server is busy. (In this demo it answers at the third attempt.)")
    return "The bank has answered."


def chunks(items: Sequence, size: int) -> list[Sequence]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def at_a_pace(steps: Sequence, *, seconds: float, message: str) -> Iterator:
    """Yield the steps over about so many seconds, telling the run how far it is, and end where it is asked to.

    The pauses stand for the slow services that real functions wait for: without them all would be over in a blink. A
    worker that is shut down is not kept waiting: from then on there are no more pauses, and the function soon ends.
    """
    run = jobs.current_run()
    for done, step in enumerate(steps):
        run.raise_if_cancelled()
        run.progress(done, total=len(steps), message=message)
        yield step
        if not run.should_stop:
            time.sleep(seconds / len(steps))
    run.progress(len(steps), total=len(steps), message=message)
