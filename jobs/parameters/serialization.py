"""JSON text: ASCII only, so that every database stores the same bytes (NUL and lone surrogates included)."""

import json


def _refuse_constant(name: str):
    raise ValueError(f"{name} is no JSON value")


_ENCODE = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_DECODE = json.JSONDecoder(parse_constant=_refuse_constant).decode


def dumps(value: object) -> str:
    """The JSON text of what `Signature.bind` or `result_to_json` returned: only this comes back as it was."""
    return _ENCODE(value) if value != {} else "{}"


def loads(text: str) -> object:
    """The JSON value of a text. Raises ValueError if the text is no JSON, has NaN or infinity, or nests too deeply."""
    if text == "{}":
        return {}
    try:
        return _DECODE(text)
    except RecursionError:
        raise ValueError("The JSON text nests too deeply.") from None
