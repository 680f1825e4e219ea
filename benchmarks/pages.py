"""How long the pages take over a long history. Run: python -m benchmarks.pages [--quick]

A million runs that have ended, 5,000 that are ready, 200 jobs; then every page as the superuser sees it, through
Django's test client: middleware, session, permissions, database, templates. The goal is 150 milliseconds each.
"""

import os
import sqlite3
import time
from pathlib import Path
from shutil import copy
from statistics import median

import django

from benchmarks import report, site

GOAL_MS = 150
ROUNDS = 30

_RUNS = """
INSERT INTO jobs_run (task, arguments_json, job_id, job_name, state, reason_code, reason_json, queue, priority,
                      effective_priority, ready_at, order_key, enqueued_at, started_at, finished_at, worker_id,
                      result_json, submitted_by_key, submitted_by_name)
WITH RECURSIVE
    number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < :finished + :queued),
    run AS (
        SELECT i, i <= :finished AS is_finished, i % 50 = 0 AS is_bad, (i * 7919) % 201 - 100 AS priority,
               i % :jobs + 1 AS job,
               strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (max(0, :finished - i) / 10.0) || ' seconds') AS at
        FROM number
    )
SELECT 'benchmarks.tasks.note', '{"number": ' || i || '}', job, 'Job ' || job,
       iif(is_finished, iif(is_bad, 'failed', 'succeeded'), 'queued'),
       iif(is_finished AND is_bad, 'function_raised', ''),
       iif(is_finished AND is_bad, '{"error_class": "ValueError", "message": "no"}', NULL),
       'q' || (i % 5), priority, priority, at, priority * 4503599627370496 + 1793000000000000 + i, at,
       iif(is_finished, at, NULL), iif(is_finished, at, NULL), iif(is_finished, 1, NULL),
       iif(is_finished AND NOT is_bad, '{"rows": ' || i || '}', NULL), i % 20 + 1, 'user ' || (i % 20 + 1)
FROM run
"""
_JOBS = """
INSERT INTO jobs_job (name, task, arguments_json, queue)
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < :jobs)
SELECT 'Job ' || i, 'benchmarks.tasks.note', '{"number": ' || i || '}', 'q' || (i % 5) FROM number
"""


def fill(finished: int, queued: int, jobs: int) -> Path:
    """A database file with history, and without the statistics of which no plan should depend (no ANALYZE)."""
    path = site.directory() / "history.sqlite3"
    copy(site.directory() / "template.sqlite3", path)
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        indexes = "FROM sqlite_master WHERE type = 'index' AND tbl_name = 'jobs_run' AND sql IS NOT NULL"
        names_and_statements = connection.execute(f"SELECT name, sql {indexes}").fetchall()
        for name, _ in names_and_statements:  # faster made anew than kept
            connection.execute(f"DROP INDEX {name}")
        connection.execute(_JOBS, {"jobs": jobs})
        connection.execute(_RUNS, {"jobs": jobs, "finished": finished, "queued": queued})
        for _, statement in names_and_statements:
            connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


def log_in():
    """A client of the superuser."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    client = Client()
    client.force_login(get_user_model().objects.create_superuser("operator", password="x"))
    return client


def far_on(client, address: str, pages: int) -> str:
    """The address of a later page of a list, found as a person would: by its links."""
    from html import unescape

    for _ in range(pages):
        html = client.get(address).content.decode()
        _, _, rest = html.partition('rel="next" href="')
        if not rest:
            break
        address = address.partition("?")[0] + unescape(rest.partition('"')[0])
    return address


def addresses(client, finished: int) -> dict[str, str]:
    from django.urls import reverse

    runs, middle = reverse("jobs:runs"), finished // 2
    job = reverse("jobs:job", args=[7])
    return {
        "dashboard": reverse("jobs:dashboard"),
        "runs": runs,
        "runs, a page from the middle": f"{runs}?after={middle}",
        "runs, succeeded": f"{runs}?state=succeeded",
        "runs, failed": f"{runs}?state=failed",
        "runs, failed, the tenth page": far_on(client, f"{runs}?state=failed", 9),
        "runs, queued": f"{runs}?state=queued",
        "runs, queued in one queue": f"{runs}?state=queued&queue=q1",
        "runs, scheduled (none)": f"{runs}?state=scheduled",
        "runs of a job": f"{runs}?job=7",
        "runs of a job, failed (rare)": f"{runs}?job=7&state=failed",
        "runs of one queue": f"{runs}?queue=q1",
        "runs of a function without any": f"{runs}?task=benchmarks.tasks.other",
        "runs, mine (none)": f"{runs}?mine=on",
        "run, succeeded": reverse("jobs:run", args=[middle + 1]),
        "run, failed": reverse("jobs:run", args=[middle // 50 * 50]),
        "run, queued, the last": reverse("jobs:run", args=[finished + 1]),
        "run, its live part": reverse("jobs:run_live", args=[finished + 1]),
        "run, run again with edits": reverse("jobs:run_edit", args=[middle + 1]),
        "run as JSON": reverse("jobs:run_json", args=[middle + 1]),
        "jobs": reverse("jobs:jobs"),
        "jobs, the last page": reverse("jobs:jobs") + "?page=8",
        "job": job,
        "job, run now": reverse("jobs:job_run", args=[7]),
        "submit": reverse("jobs:submit"),
        "workers and queues": reverse("jobs:workers"),
        "status as JSON": reverse("jobs:status"),
    }


def times_of(client, address: str, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each request by the clock and of the processor; the first, which finds nothing warm, is among
    them."""
    times, works = [], []
    for _ in range(rounds):
        started, worked = time.perf_counter(), time.thread_time()
        response = client.get(address)
        times.append(1000 * (time.perf_counter() - started))
        works.append(1000 * (time.thread_time() - worked))
        if response.status_code != 200:
            raise RuntimeError(f"{address} was answered by {response.status_code}.")
    return times, works


def main() -> None:
    given = report.options("How long the pages take over a long history.")
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.pages_settings"
    django.setup()
    site.fresh()
    report.heading("Pages", given)
    finished, queued, jobs = (50_000, 1_000, 200) if given.quick else (1_000_000, 5_000, 200)
    report.progress(f"filling: {finished:,} finished, {queued:,} queued, {jobs} jobs")
    site.fresh(fill(finished, queued, jobs))
    client = log_in()
    rows = []
    for name, address in addresses(client, finished).items():
        report.progress(name)
        times, works = times_of(client, address, 5 if given.quick else ROUNDS)
        goal = "" if median(times) <= GOAL_MS else "missed"
        rows.append((name, f"{median(times):.1f}", f"{max(times):.1f}", f"{median(works):.1f}", goal))
    report.done()
    report.table(("page", "median ms", "worst ms", "processor ms", f"goal {GOAL_MS}"), rows)
    print(f"{finished:,} finished, {queued:,} queued, {jobs} jobs; SQLite, superuser, Django's test client")


if __name__ == "__main__":
    main()
