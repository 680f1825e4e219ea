"""Names whose values are secret, by the pattern with which Django cleanses its own debug pages."""

from django.views.debug import SafeExceptionReporterFilter

_is_match = SafeExceptionReporterFilter.hidden_settings.search

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
