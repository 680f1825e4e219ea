"""The forms door: a Django form for a task function's parameters, one field each."""

import re
from collections.abc import Mapping
from math import isfinite

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html_join

from jobs.core.texts import visible
from jobs.parameters.base import NOTHING, Refused, refused_text
from jobs.parameters.containers import json_text
from jobs.parameters.inspection import Parameter
from jobs.parameters.masking import SUBSTITUTE, is_secret, mask, restore
from jobs.parameters.scalars import Tickbox, yes_or_no
from jobs.parameters.serialization import loads
from jobs.parameters.signature import Signature, read_text

# The numbers that a browser's number field holds; it shows any other text as nothing.
_is_number = re.compile(r"-?(\d+(\.\d+)?|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE).fullmatch


class ParameterField(forms.Field):
    """One parameter. Its clean value is the JSON value to store, or NOTHING where the function's default applies.

    `stored` is the JSON value that there is already, or NOTHING. What a person leaves as it was shown is kept exactly,
    also where its text could not tell all of it, and secrets are kept without being shown. One that is no value of the
    parameter's type any more is not shown, and not kept.
    """

    def __init__(self, parameter: Parameter, stored: object, help_text: str):
        self._parameter = parameter
        self._stored = stored
        self._is_secret = is_secret(parameter.name)
        field = self._field()
        self._shown = self._initial() or ("off" if isinstance(field.widget, Tickbox) else "")
        super().__init__(
            required=self._is_needed,
            widget=self._widget(field.widget),
            label=parameter.name.replace("_", " ").capitalize(),
            help_text=format_html_join(" ", "{}", ((text,) for text in (help_text, parameter.type.hint) if text)),
            initial=self._shown,
        )
        if isinstance(field, forms.ModelChoiceField) and isinstance(self.widget, forms.Select):
            self.widget.choices = field.choices

    @property
    def _is_needed(self) -> bool:
        """Whether the browser is to insist on a text."""
        is_kept = self._stored is not NOTHING and not self._shown
        return self._parameter.is_required and self._parameter.type.requires_text and not is_kept

    def clean(self, raw: object) -> object:
        if self._is_untouched(raw):
            return self._stored
        try:
            return self._read(raw)
        except Refused as refused:
            text = refused.text(is_secret_name=self._is_secret)
        raise ValidationError(f"{text[:1].upper()}{text[1:].removesuffix('.')}.", code="invalid")

    def bound_data(self, data, initial):
        return _showable(data)

    def _field(self) -> forms.Field:
        field = self._parameter.type.form_field()
        # A box could neither hide its value nor be left as it is.
        return yes_or_no() if self._is_secret and isinstance(field.widget, Tickbox) else field

    def _initial(self) -> object:
        """What is shown at first: the stored value, else the function's default, as far as either has a text."""
        self._known, self._is_masked = {}, False
        kind = self._parameter.type
        value = self._value_to_show()
        if value is NOTHING or self._is_secret:
            return ""
        return _showable(self._masked_text(kind.to_json(value)) or kind.to_initial(value))

    def _value_to_show(self) -> object:
        """The stored value, or the default. A stored one that is no value of the type any more is forgotten here."""
        is_stored = self._stored is not NOTHING
        if not is_stored and self._parameter.is_required:
            return NOTHING
        try:
            return self._parameter.type.from_value(self._stored if is_stored else self._parameter.default)
        except Refused:
            self._stored = NOTHING
            return NOTHING

    def _masked_text(self, value: object) -> str:
        """The text of a JSON value that holds secrets, which is remembered to restore them; empty if it holds none."""
        self._known = {self._parameter.name: value}
        masked = mask(self._known)[self._parameter.name]
        self._is_masked = masked != value
        return json_text(masked) if self._is_masked else ""

    def _widget(self, widget: forms.Widget) -> forms.Widget:
        if self._is_secret and not isinstance(widget, forms.widgets.ChoiceWidget):
            return forms.PasswordInput({"autocomplete": "off", "placeholder": self._placeholder})
        if type(widget) is forms.TextInput and _has_breaks(self._shown):
            return forms.Textarea({"rows": 4})
        if isinstance(widget, forms.NumberInput) and not _fits_number_input(self._shown):
            return forms.TextInput()
        return widget

    @property
    def _placeholder(self) -> str:
        return "" if self._stored is NOTHING else "not shown; leave empty to keep it"

    def _is_untouched(self, raw: object) -> bool:
        """Whether this is what was shown. One that has to be given and is not stored yet is never that."""
        if self._stored is NOTHING and self._parameter.is_required:
            return False
        return _comparable(raw) == _comparable(self._shown)

    def _read(self, raw: object) -> object:
        text = _with_plain_breaks(raw) if isinstance(raw, str) else raw or ""
        try:
            if self._is_masked and isinstance(text, str) and text.strip():
                return self._restored(text)
            return self._without_asterisks(read_text(self._parameter, text))
        except KeyError:
            raise refused_text("the secrets themselves, where they are new", SUBSTITUTE) from None

    def _without_asterisks(self, value: object) -> object:
        """The same JSON value; KeyError for a secret that somebody took from where it is masked."""
        restore({self._parameter.name: value}, self._known)
        return value

    def _restored(self, text: str) -> object:
        kind = self._parameter.type
        try:
            value = restore(loads(text), self._known[self._parameter.name])
        except ValueError:
            raise kind.text_refusal(text) from None
        return kind.to_json(kind.from_value(value))


def _showable(shown: object) -> object:
    return visible(shown) if isinstance(shown, str) else shown


def _comparable(shown: object) -> object:
    """Browsers send line breaks in their own way, and what is empty as an empty text or not at all."""
    if isinstance(shown, list) and shown:
        return {str(item) for item in shown}  # each is sent once, in the order of the choices
    return _with_plain_breaks(shown) if isinstance(shown, str) else shown or ""


def _with_plain_breaks(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _has_breaks(shown: object) -> bool:
    return isinstance(shown, str) and "\n" in _with_plain_breaks(shown)


def _fits_number_input(shown: object) -> bool:
    return not shown or (_is_number(str(shown)) is not None and isfinite(float(shown)))


class ParametersForm(forms.Form):
    """The parameters of a task function, typed by a person. `arguments` are the JSON values to store, once it is valid.

    `stored` are the JSON values that there are already: of a job that is edited, of a run that is repeated. Those that
    are no parameters of the function any more are left out, and named in `forgotten`.
    """

    use_required_attribute = True

    def __init__(
        self, signature: Signature, data: Mapping | None = None, *, stored: dict | None = None,
        helps: Mapping[str, str] | None = None, prefix: str = "parameter", **options,
    ):  # fmt: skip
        super().__init__(data, prefix=prefix, **options)
        stored, helps = stored or {}, helps or {}
        self.forgotten = [name for name in stored if name not in signature.parameters]
        for name, parameter in signature.parameters.items():
            self.fields[name] = ParameterField(parameter, stored.get(name, NOTHING), helps.get(name, ""))
        if self.is_bound:
            self._tell_what_is_not_sent_back()

    def _tell_what_is_not_sent_back(self) -> None:
        """A secret that was typed is not in the page that tells what is wrong with other fields."""
        for bound in self:
            if isinstance(bound.field.widget, forms.PasswordInput) and bound.data:
                bound.field.widget.attrs["placeholder"] = "not sent back; type it again"

    @property
    def arguments(self) -> dict[str, object]:
        return {name: value for name, value in self.cleaned_data.items() if value is not NOTHING}
