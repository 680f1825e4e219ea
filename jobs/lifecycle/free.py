"""Taking the best rows that nobody else has locked."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from jobs.lifecycle.database import db_time

T = TypeVar("T")

# Of very many that others have locked, only so many times the limit are tried in one transaction.
ROUNDS = 20


def due_by(connection, statement: str, now: datetime) -> Callable[[int], list[int]]:
    """The `best` of `take_free` for rows that are due: `statement` reads ids, with `now` and how many as parameters."""

    def due(count: int) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(statement, (db_time(connection, now), count))
            return [row[0] for row in cursor.fetchall()]

    return due


def take_free(limit: int, best: Callable[[int], Sequence[int]], take: Callable[[list[int]], list[T]]) -> list[T]:
    """What `take` makes of the `limit` best ids: those that it cannot have are replaced by the next best.

    `best(count)` reads the ids of the best ones without locking anything, `take(ids)` locks exactly these, without
    waiting, and returns a value for each that it got. One statement that orders and locks at once would also lock rows
    that it only passes over (MariaDB), and so hide them from others.
    """
    taken: list[T] = []
    tried: set[int] = set()
    for _ in range(ROUNDS):
        if not (short := limit - len(taken)):
            break
        wanted = [each for each in best(short + len(tried)) if each not in tried][:short]
        taken += take(wanted)
        tried.update(wanted)
        if len(wanted) < short:
            break  # there are no more
    return taken
