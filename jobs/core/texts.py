"""Text that every database can hold."""

CUT = "\n… {dropped} characters left out …\n"


def storable(text: str, limit: int) -> str:
    """`text` with what a database refuses made visible, and with its middle left out beyond `limit` characters."""
    if len(text) > limit:
        head = limit // 4  # an error says what went wrong at its end
        tail = limit - head
        text = text[:head] + CUT.format(dropped=len(text) - limit) + text[-tail:]
    return visible(text)


def visible(text: str) -> str:
    """`text` with what a database refuses shown as escapes: U+0000 (PostgreSQL) and lone surrogates (all)."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def line(text: str, limit: int) -> str:
    """`text` for a column of `limit` characters."""
    text = storable(text, 4 * limit)
    return text if len(text) <= limit else text[: limit - 1] + "…"
