"""`Annotated[T, forms.EmailField()]`: a type whose values a form field checks as well."""

from copy import deepcopy

from django.core.exceptions import ValidationError
from django.forms import Field
from django.utils import translation

from jobs.parameters.base import ParameterType


class CheckedType(ParameterType):
    """Another type's values, as far as a form field's own checks and validators let them pass.

    As in a form, the validators see no empty value. Whether one may be left out is said by the signature, not by the
    field's `required`; and the field does not convert: what is given is kept as it is.
    """

    def __init__(self, inner: ParameterType, field: Field):
        self.inner = inner
        self.field = deepcopy(field)
        self.field.required = False
        self.example = inner.example
        self.is_text = inner.is_text
        self.expected = f"{inner.expected}, that {type(field).__name__} accepts"

    def from_value(self, value):
        value = self.inner.from_value(value)
        if value in self.field.empty_values:
            return value
        try:
            self.field.validate(value)
            self.field.run_validators(value)
        except ValidationError as error:
            raise self.refusal(value, _words(error)) from None
        return value

    def to_json(self, value):
        return self.inner.to_json(value)

    def from_text(self, text):
        return self.inner.from_text(text)


def _words(error: ValidationError) -> str:
    with translation.override(None):  # the same words whatever the caller's language
        return " ".join(error.messages)
