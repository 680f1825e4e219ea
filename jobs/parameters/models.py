"""Model instances: stored as their primary key, read again when the run starts."""

from django import forms
from django.db import DataError, models

from jobs.parameters.base import ParameterType, Refused, Unsupported
from jobs.parameters.describe import shorten
from jobs.parameters.scalars import IntType, StrType, UUIDType

# More rows than a person can look through are not offered one by one.
MOST_CHOICES = 500

_KEY_TYPES = (
    (models.IntegerField, IntType()),  # AutoField and its kin are IntegerFields
    (models.UUIDField, UUIDType()),
    ((models.CharField, models.TextField), StrType()),
)


class ModelType(ParameterType):
    """A saved instance of a model, or its primary key in JSON form.

    Read by the model's `_base_manager`, as Django follows a foreign key: a default manager may hide rows (drafts, soft
    deletion), and an instance that the caller holds has to be found again. The database is the router's choice.
    """

    def __init__(self, model: type[models.Model]):
        self.model = model
        self._key_field = _key_field(model)
        self._key = next((key for kind, key in _KEY_TYPES if isinstance(self._key_field, kind)), None)
        if self._key is None:
            raise Unsupported(f"its primary key is a {type(self._key_field).__name__}")
        self.example = self._key.example
        self.expected = f"a saved {model.__name__}, or its primary key, such as {self.example}"
        self.text_expected = f"the primary key of a {model.__name__}"

    def from_value(self, value):
        if not isinstance(value, self.model):
            return self._read(value)
        if value.pk is None or value._state.adding:
            raise self.refusal(value, "it is not in the database; save it first")
        return value

    def to_json(self, value):
        key = getattr(value, self.model._meta.pk.attname)
        return self._key.to_json(self._key.from_value(self._key_field.to_python(key)))

    def form_field(self):
        rows = self.model._base_manager.all()
        field = forms.ModelChoiceField(rows, required=False)
        if len(rows.values_list("pk")[: MOST_CHOICES + 1]) > MOST_CHOICES:
            field.widget = forms.TextInput()
        return field

    def from_text(self, text):
        try:
            return self._read(self._key.from_text(text))
        except Refused as refused:
            raise self.text_refusal(text, refused.detail) from None

    def to_text(self, value):
        return str(self.to_json(value))

    def _read(self, value):
        try:
            key = self._key.from_value(value)
        except Refused:
            raise self.refusal(value) from None
        try:
            return self.model._base_manager.get(pk=key)
        except (self.model.DoesNotExist, ValueError, DataError):
            raise self.refusal(value, f"there is no {self.model.__name__} with pk {shorten(value)}") from None


def _key_field(model: type[models.Model]) -> models.Field:
    """The field that holds the key's value: that of the parent, where the key is a link to a parent."""
    if model._meta.abstract or model._meta.swapped:
        raise Unsupported("it is abstract" if model._meta.abstract else f"{model._meta.swapped} stands for it")
    field = model._meta.pk
    while field.is_relation:
        field = field.target_field
    return field
