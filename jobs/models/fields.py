"""Field classes that behave alike on every database."""

from datetime import UTC, datetime

from django.core.exceptions import ValidationError
from django.db import models


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
        value = super().to_python(value) if not isinstance(value, datetime) else value
        if value is not None and value.tzinfo is None:
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
