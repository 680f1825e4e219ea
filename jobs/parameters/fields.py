"""`Annotated[T, forms.EmailField()]`: a type whose values a form field checks as well."""

from copy import deepcopy

from django import forms
from django.core.exceptions import ValidationError
from django.utils import translation

from jobs.core.texts import line
from jobs.parameters.base import NOTHING, ParameterType, Refused

MAX_WORDS = 300  # a field's message may repeat all that was typed

_ONE_TEXT = (forms.widgets.Input, forms.Textarea, forms.widgets.ChoiceWidget)
_NO_TEXT = (forms.CheckboxInput, forms.FileInput, forms.NullBooleanSelect)
_MANY_TEXTS = (forms.SelectMultiple, forms.CheckboxSelectMultiple)

# What fields raise for a text or a type that nobody thought of.
_UNREADABLE = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)


class CheckedType(ParameterType):
    """Another type's values, as far as a form field's own checks and validators let them pass.

    As in a form, the validators see no empty value. Whether a value may be left out is said by the signature; the
    field's `required` says whether an empty text is one, if the type has such a value. Values are not converted by the
    field, only texts are, in the same way whatever the locale. What the field makes of a text may be no value of the
    type: then the type reads it.
    """

    def __init__(self, inner: ParameterType, field: forms.Field):
        self.inner = inner
        self.requires_text = inner.requires_text and (field.required or inner.empty is NOTHING)
        self.field = deepcopy(field)
        self.field.required = False
        self.empty = inner.empty
        self.unticked = inner.unticked
        self.example = inner.example
        self.fits_a_line = inner.fits_a_line
        self.is_json = inner.is_json
        self.takes_many = isinstance(field.widget, _MANY_TEXTS)
        self._holds_text = isinstance(field.widget, _ONE_TEXT) and not isinstance(field.widget, _NO_TEXT)
        self.expected = f"{inner.expected}, that {type(field).__name__} accepts"
        self.text_expected = f"{inner.text_expected}, that {type(field).__name__} accepts"

    @property
    def hint(self):
        return self.field.help_text or self.inner.hint

    def from_value(self, value):
        value = self.inner.from_value(value)
        if problem := self._problem(value):
            raise self.refusal(value, problem)
        return value

    def _problem(self, value) -> str:
        """What the field says against a value of the type, if anything."""
        if value in self.field.empty_values:
            return ""
        try:
            self.field.validate(value)
            self.field.run_validators(value)
        except ValidationError as error:
            return _words(error)
        except _UNREADABLE as error:
            return f"{type(self.field).__name__} cannot check it ({type(error).__name__})"
        return ""

    def to_json(self, value):
        return self.inner.to_json(value)

    def form_field(self):
        return deepcopy(self.field) if self._holds_text else self.inner.form_field()

    def from_text(self, text):
        value = self._converted(text)
        if problem := self._problem(value):
            raise self.text_refusal(text, problem)
        return value

    def _converted(self, text):
        if not self._holds_text or (self.takes_many and isinstance(text, str)):
            return self.inner.from_text(text)
        cleaned = self._cleaned(text)
        try:
            return self.inner.from_value(list(cleaned) if self.takes_many else cleaned)
        except Refused as refused:
            if not isinstance(text, str):
                raise self.text_refusal(text, refused.detail) from None
        return self.inner.from_text(text)

    def _cleaned(self, text):
        detail = ""
        try:
            with translation.override(None):
                return self.form_field().clean(text)
        except ValidationError as error:
            detail = _words(error)
        except _UNREADABLE:
            pass
        raise self.text_refusal(text, detail)

    def to_text(self, value):
        return self.inner.to_text(value)

    def to_initial(self, value):
        return self.to_json(value) if self.takes_many else self.inner.to_initial(value)


def _words(error: ValidationError) -> str:
    with translation.override(None):  # the same words whatever the caller's language
        return line(" ".join(error.messages), MAX_WORDS)
