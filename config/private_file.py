"""Small secrets that the site makes for itself and keeps in files that only its own user can read."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def read_or_create(path: Path, make: Callable[[], str]) -> str:
    """The text kept in `path`; when there is no such file yet, `make()` is kept in it first (mode 0600).

    Any number of processes may call this at once: all get the same text. Raises ImproperlyConfigured for an empty file.
    """
    with suppress(FileNotFoundError):
        return _read(path)
    # Several servers' processes start together. The text is written under another name and then linked: a link appears
    # whole or not at all and never replaces a file, so the first process wins and the others read what it wrote.
    written = _write_beside(path, make())
    try:
        os.link(written, path)
    except FileExistsError:
        pass
    finally:
        written.unlink()
    return _read(path)


def replace(path: Path, text: str) -> None:
    """Keep `text` in `path` (mode 0600), in place of what it held."""
    _write_beside(path, text).replace(path)


def _read(path: Path) -> str:
    text = path.read_text(encoding="utf-8").strip()
    if not text:
        raise ImproperlyConfigured(f"{path} is empty. Delete it: a new one is made at the next start.")
    return text


def _write_beside(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # O_EXCL, mode 0600
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
    return Path(name)
