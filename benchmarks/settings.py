"""Settings of the benchmarks: the app alone, on a SQLite file in a temporary directory, or on a server that
BENCHMARKS_DATABASE_URL names (`postgres://user:password@host:port/name`, `mysql://…`). Reads no environment of a site.

The first process makes the directory (TMPDIR says where) and removes it at its end; the processes that it starts find
directory and JOBS in two variables of their own.
"""

import atexit
import json
import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

if "BENCHMARKS_DIRECTORY" not in os.environ:
    os.environ["BENCHMARKS_DIRECTORY"] = tempfile.mkdtemp(prefix="jobs-benchmarks-")
    atexit.register(shutil.rmtree, os.environ["BENCHMARKS_DIRECTORY"], ignore_errors=True)

BENCHMARKS_DIRECTORY = Path(os.environ["BENCHMARKS_DIRECTORY"])

SECRET_KEY = "nothing is signed here"
INSTALLED_APPS = ["jobs", "benchmarks"]
ROOT_URLCONF = "benchmarks.settings"
urlpatterns = []
USE_TZ = True

# As the site has it, unless a benchmark measures what more safety costs.
SYNCHRONOUS = os.environ.get("BENCHMARKS_SYNCHRONOUS", "NORMAL")
SQLITE = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": str(BENCHMARKS_DIRECTORY / "db.sqlite3"),
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "init_command": f"PRAGMA journal_mode=WAL; PRAGMA synchronous={SYNCHRONOUS};",
        "timeout": 20,
    },
}


BACKENDS = {"postgres": "postgresql", "mysql": "mysql"}


def from_url(url: str) -> dict:
    """The first process makes a database of its own beside the named one; the processes that it starts are told."""
    parts = urlsplit(url)
    named = parts.path.strip("/")
    return {
        "ENGINE": f"django.db.backends.{BACKENDS[parts.scheme]}",
        "NAME": os.environ.get("BENCHMARKS_DATABASE_NAME", named),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": parts.port or "",
        "TEST": {"NAME": f"benchmarks_{named}"},
    }


_url = os.environ.get("BENCHMARKS_DATABASE_URL")
DATABASES = {"default": from_url(_url) if _url else SQLITE}

JOBS = {"AUTOSTART": False, **json.loads(os.environ.get("BENCHMARKS_JOBS", "{}"))}
