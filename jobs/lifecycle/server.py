"""What the server that holds the runs must be able to do."""

from django.apps import apps
from django.db import NotSupportedError

from jobs.errors import JobsError
from jobs.models.fields import exact_collation


class UnsupportedServer(JobsError):
    """The database server lacks something that nothing here can do without."""


def check_server(connection) -> None:
    """Raises UnsupportedServer, and what the database raises when it cannot be reached."""
    if problem := problem_of(connection):
        raise UnsupportedServer(f"{problem} Use SQLite, PostgreSQL, or MariaDB 10.6 or newer.")


def problem_of(connection) -> str | None:
    """What the server lacks, as a sentence."""
    if connection.vendor not in ("sqlite", "postgresql", "mysql"):
        return f"jobs does not know the database {connection.display_name}."
    try:
        connection.ensure_connection()
    except NotSupportedError as error:  # this version of Django does not work with it either
        return f"The database server is too old: {str(error).rstrip('.')}."
    if connection.vendor == "mysql" and not connection.mysql_is_mariadb:
        return "MySQL has no INSERT … RETURNING."
    if connection.vendor == "mysql" and not connection.features.supports_transactions:
        return "The tables are not made by a storage engine with transactions, such as InnoDB."
    if connection.features.has_select_for_update and not connection.features.has_select_for_update_skip_locked:
        return "The database server is too old: it has no SKIP LOCKED, and workers would wait for each other."
    return None


def inexact_columns(connection) -> list[tuple[str, str, str]]:
    """(table, column, collation) of the texts of jobs in which names that differ may be equal, or that cannot hold all
    characters. Only MariaDB has such."""
    exact = exact_collation(connection)
    if exact is None:
        return []
    tables = [model._meta.db_table for model in apps.get_app_config("jobs").get_models()]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, collation_name FROM information_schema.columns "
            "WHERE table_schema = DATABASE() AND collation_name <> %s AND table_name IN %s ORDER BY 1, 2",
            [exact, tables],
        )
        return list(cursor.fetchall())
