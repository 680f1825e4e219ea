"""System checks: what can be known before anything runs, with what to do about it."""

from django.apps import apps
from django.conf import settings
from django.core.checks import Error, Tags, Warning, register

from jobs import conf
from jobs.registry import registry


@register("jobs")
def check_setting(**kwargs):
    """jobs.E001: the JOBS setting."""
    return [Error(message, hint=hint, id="jobs.E001") for message, hint in conf.problems(getattr(settings, "JOBS", {}))]


@register("jobs")
def check_htmx(**kwargs):
    """jobs.W004: the pages and the admin's forms renew themselves by a script that django-htmx brings."""
    if apps.is_installed("django_htmx"):
        return []
    return [
        Warning(
            "django_htmx is not in INSTALLED_APPS: the pages of jobs, and its job form in the admin, cannot be shown.",
            hint='Add "django_htmx" to INSTALLED_APPS.',
            id="jobs.W004",
        )
    ]


@register("jobs")
def check_tasks_modules(**kwargs):
    """jobs.E002: a tasks module that cannot be imported. Its runs fail; all others work."""
    return [
        Error(
            f"{module} could not be imported: {problem}.",
            hint="Mend the module, then restart. Runs of its functions fail as not registered until then.",
            id="jobs.E002",
        )
        for module, problem in registry.broken_modules.items()
    ]


@register("jobs")
def check_sqlite(**kwargs):
    """jobs.W001-W003: SQLite settings under which a site's requests fail as "locked" beside a working scheduler."""
    from jobs.lifecycle.database import alias

    config = settings.DATABASES.get(alias(), {})
    if not config.get("ENGINE", "").endswith("sqlite3"):
        return []
    options = config.get("OPTIONS", {})
    found = []
    if str(options.get("transaction_mode", "")).upper() not in ("IMMEDIATE", "EXCLUSIVE"):
        found.append(_sqlite_warning("W001", "transaction_mode is not IMMEDIATE", '"transaction_mode": "IMMEDIATE"'))
    if "wal" not in str(options.get("init_command", "")).lower():
        found.append(
            _sqlite_warning(
                "W002",
                "the journal is not in WAL mode",
                '"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"',
            )
        )
    if config.get("ATOMIC_REQUESTS"):
        found.append(
            Warning(
                "ATOMIC_REQUESTS is on for the SQLite database that holds the runs: every request holds its write "
                "lock, and the scheduler waits for each.",
                hint="Turn it off, and use transaction.atomic() where a view needs it.",
                id="jobs.W003",
            )
        )
    return found


def _sqlite_warning(number: str, what: str, option: str) -> Warning:
    return Warning(
        f"On the SQLite database that holds the runs {what}: requests that read and then write will fail as "
        '"database is locked" beside a working scheduler.',
        hint=f"Add {option} to its OPTIONS.",
        id=f"jobs.{number}",
    )


@register("jobs", Tags.database)
def check_database(databases=None, **kwargs):
    """jobs.E003, jobs.W005: the server that holds the runs. Asked by `migrate` and `check --database`; one that cannot
    be reached is no finding."""
    from jobs.lifecycle.database import alias, connection
    from jobs.lifecycle.server import inexact_columns, problem_of

    if alias() not in (databases or ()):
        return []
    try:
        problem = problem_of(connection())
        return [_server_error(problem)] if problem else _collation_warnings(inexact_columns(connection()))
    except Exception:
        return []


def _server_error(problem: str) -> Error:
    return Error(
        f"{problem} No scheduler starts.",
        hint="Use SQLite, PostgreSQL, or MariaDB 10.6 or newer.",
        id="jobs.E003",
    )


def _collation_warnings(columns: list[tuple[str, str, str]]) -> list[Warning]:
    if not columns:
        return []
    named = ", ".join(f"{table}.{column} ({collation})" for table, column, collation in columns)
    tables = ", ".join(sorted({table for table, _, _ in columns}))
    return [
        Warning(
            "Names of queues, jobs and keys that differ only in case, accents or spaces at the end may be one and the "
            f"same in the database, or some characters cannot be stored: {named}.",
            hint="Stop all workers. Run ALTER TABLE … CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin for "
            f"each of these tables: {tables}.",
            id="jobs.W005",
        )
    ]
