"""Names whose values are secret, by the pattern with which Django cleanses its own debug pages."""

import json
from collections import defaultdict

from django.views.debug import SafeExceptionReporterFilter

_is_match = SafeExceptionReporterFilter.hidden_settings.search

# By its text, because in Python 1 equals True.
_as_text = json.JSONEncoder(sort_keys=True).encode

SUBSTITUTE = SafeExceptionReporterFilter.cleansed_substitute


def is_secret(name: str) -> bool:
    """Whether the value of this name must not be shown: API, AUTH, TOKEN, KEY, SECRET, PASS, … anywhere in it."""
    return _is_match(name) is not None


def mask(arguments: dict) -> dict:
    """A copy of JSON values by name, in which the values of secret names, at any depth, are replaced by asterisks."""
    return {name: SUBSTITUTE if is_secret(name) else _masked(value) for name, value in arguments.items()}


def _masked(value):
    if isinstance(value, dict):
        return mask(value)
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return value


def restore(shown: object, stored: object) -> object:
    """What `mask` has shown of the JSON value `stored`, edited by a person, with the secrets that they left masked.

    In a list an item gets its secrets back if the rest of it is that of a stored item, and of no other one that has
    other secrets. Raises KeyError for a secret that is masked where none is known.
    """
    if isinstance(shown, dict):
        known = stored if isinstance(stored, dict) else {}
        return {name: _restored(name, value, known) for name, value in shown.items()}
    if isinstance(shown, list):
        return _restored_list(shown, stored if isinstance(stored, list) else [])
    return shown


def _restored(name: str, value: object, known: dict) -> object:
    if value == SUBSTITUTE and is_secret(name):
        return known[name]
    return restore(value, known.get(name))


def _restored_list(shown: list, known: list) -> list:
    by_text = defaultdict(list)
    for item in known:
        by_text[_as_text(_masked(item))].append(item)
    texts = [_as_text(item) for item in shown]
    if texts == [_as_text(_masked(item)) for item in known]:
        return known
    return [_restored_item(item, by_text.get(text, ())) for item, text in zip(shown, texts, strict=True)]


def _restored_item(item: object, candidates: list) -> object:
    if len({_as_text(candidate) for candidate in candidates}) == 1:
        return candidates[0]
    return restore(item, None)
