"""The last runs of jobs, for a strip of results beside each."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.lifecycle.database import connection

_LAST = "SELECT job_id, id, state FROM jobs_run WHERE job_id = %s ORDER BY id DESC LIMIT %s"


@dataclass(frozen=True)
class Result:
    """One run in a strip."""

    id: int
    state: str


def last_results(job_ids: Sequence[int], count: int = 20) -> dict[int, list[Result]]:
    """The last `count` runs of each job, the oldest first, in one statement."""
    results: dict[int, list[Result]] = defaultdict(list)
    if not job_ids:
        return results
    # Each in a derived table: SQLite takes no LIMIT inside of a UNION otherwise.
    statement = " UNION ALL ".join(f"SELECT * FROM ({_LAST}) AS last_{place}" for place in range(len(job_ids)))
    with connection().cursor() as cursor:
        cursor.execute(statement, [value for job_id in job_ids for value in (job_id, count)])
        for job_id, run_id, state in cursor.fetchall():
            results[job_id].append(Result(run_id, state))
    return {job_id: sorted(found, key=lambda result: result.id) for job_id, found in results.items()}
