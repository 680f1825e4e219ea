"""Which waiting runs are the most urgent: read from the claim index in its order, without any lock."""

from collections.abc import Collection, Sequence

from jobs.lifecycle.database import hidden

# All of this is read inside the claim index's range; nothing is filtered after a LIMIT.
_BEST_OF_QUEUE = (
    f"SELECT order_key, id FROM jobs_run WHERE state = {hidden('queued')} AND queue = %s "
    "ORDER BY order_key, id LIMIT %s"
)
_BEST_AFTER_QUEUE = (
    f"SELECT queue, order_key, id FROM jobs_run WHERE state = {hidden('queued')} AND queue > %s "
    "ORDER BY queue, order_key, id LIMIT %s"
)
_NEXT_QUEUE = f"SELECT MIN(queue) FROM jobs_run WHERE state = {hidden('queued')} AND queue > %s"


def best_waiting(
    connection, limit: int, queues: Sequence[str] | None, paused: Collection[str] = ()
) -> list[tuple[int, int]]:
    """(order_key, id) of the `limit` most urgent queued runs, best first, over the served queues that are not paused.

    `queues` None means all. Reads at most `limit` index entries of each queue, however many rows there are.
    """
    with connection.cursor() as cursor:
        if queues is None:
            found = _walk(connection, cursor, limit, paused)
        else:
            found = []
            for queue in queues:
                if queue not in paused:
                    cursor.execute(_BEST_OF_QUEUE, (queue, limit))
                    found += cursor.fetchall()
    return sorted(found)[:limit]


def _walk(connection, cursor, limit: int, paused: Collection[str]) -> list[tuple[int, int]]:
    """Walk the claim index queue by queue."""
    next_page = _next_page_on_mariadb if connection.vendor == "mysql" else _next_page
    found, after = [], ""
    while after is not None:
        page, after = next_page(cursor, after, limit)
        found += [(key, run_id) for queue, key, run_id in page if queue not in paused]
    return found


def _next_page(cursor, after: str, limit: int) -> tuple[list[tuple[str, int, int]], str | None]:
    """The best of the queues after that one, and the last queue of which all are there; None if there are no more.
    A page that ends inside its second or a later queue is cut at that queue."""
    cursor.execute(_BEST_AFTER_QUEUE, (after, limit))
    page = cursor.fetchall()
    if len(page) < limit:
        return page, None
    if page[0][0] != page[-1][0]:
        cut = page[-1][0]
        page = [row for row in page if row[0] != cut]
    return page, page[-1][0]


def _next_page_on_mariadb(cursor, after: str, limit: int) -> tuple[list[tuple[str, int, int]], str | None]:
    """MariaDB may go through all runs of the queues before, when it expects few. The name of the next queue costs it
    one look into the index."""
    if not after:
        return _next_page(cursor, after, limit)
    cursor.execute(_NEXT_QUEUE, (after,))
    (queue,) = cursor.fetchone()
    if queue is None:
        return [], None
    cursor.execute(_BEST_OF_QUEUE, (queue, limit))
    return [(queue, *row) for row in cursor.fetchall()], queue
