"""Field classes that behave alike on every database."""

from datetime import UTC, date, datetime

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import lookups


class UTCDateTimeField(models.DateTimeField):
    """A moment: aware UTC in Python and naive UTC in the column, whatever USE_TZ and the database's time zone say.

    Django's own field stores naive local times when USE_TZ is False, which merges the repeated hour in autumn. Naive
    values are refused: they do not say which moment they mean.
    """

    description = "A moment in UTC"

    def db_type(self, connection):
        # PostgreSQL's "timestamp with time zone" would convert by the session's zone, which USE_TZ changes.
        return "timestamp" if connection.vendor == "postgresql" else super().db_type(connection)

    def to_python(self, value):
        is_day = isinstance(value, date) and not isinstance(value, datetime)
        if not is_day and not isinstance(value, datetime):
            value = super().to_python(value)
        if is_day or (value is not None and value.tzinfo is None):
            raise ValidationError(f"Expected a datetime with a time zone, got {value!r}.")
        return value

    def pre_save(self, model_instance, add):
        return getattr(model_instance, self.attname)

    def get_prep_value(self, value):
        return self.to_python(value)

    def get_db_prep_value(self, value, connection, prepared=False):
        if not prepared:
            value = self.get_prep_value(value)
        if value is None or hasattr(value, "resolve_expression"):
            return value
        return connection.ops.adapt_datetimefield_value(value.astimezone(UTC).replace(tzinfo=None))

    def from_db_value(self, value, expression, connection):
        return None if value is None else value.replace(tzinfo=UTC)


class _ExactText:
    """Text that is compared character by character and holds all of Unicode, whatever the database's defaults are.

    PostgreSQL and SQLite do so by themselves. On MariaDB the usual collations make one name of "Mail", "mail", "mäil"
    and "mail ", and a database of the character set utf8mb3 refuses emoji.
    """

    def db_parameters(self, connection):
        return super().db_parameters(connection) | {"collation": exact_collation(connection)}


class CharField(_ExactText, models.CharField):
    """A short text or name."""


class TextField(_ExactText, models.TextField):
    """A text of any length."""


def exact_collation(connection) -> str | None:
    """The collation in which texts are equal only if all their characters are; None where every text is so compared."""
    if connection.vendor != "mysql":
        return None
    return "utf8mb4_nopad_bin" if connection.mysql_is_mariadb else "utf8mb4_0900_bin"


class _LikeInAnyCase:
    """A search that ignores case, as on the other databases, in a column whose collation does not."""

    def process_lhs(self, compiler, connection, lhs=None):
        sql, params = super().process_lhs(compiler, connection, lhs)
        return (f"{sql} COLLATE utf8mb4_general_ci" if connection.vendor == "mysql" else sql), params


def _search_in_any_case() -> None:
    for lookup in (lookups.IExact, lookups.IContains, lookups.IStartsWith, lookups.IEndsWith, lookups.IRegex):
        for field in (CharField, TextField):
            field.register_lookup(type(lookup.__name__, (_LikeInAnyCase, lookup), {}))


_search_in_any_case()
