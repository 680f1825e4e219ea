"""Settings of the benchmarks: the app alone, on a SQLite file in a temporary directory. Reads no environment of a site.

The first process makes the directory (TMPDIR says where) and removes it at its end; the processes that it starts find
directory and JOBS in two variables of their own.
"""

import atexit
import json
import os
import shutil
import tempfile
from pathlib import Path

if "BENCHMARKS_DIRECTORY" not in os.environ:
    os.environ["BENCHMARKS_DIRECTORY"] = tempfile.mkdtemp(prefix="jobs-benchmarks-")
    atexit.register(shutil.rmtree, os.environ["BENCHMARKS_DIRECTORY"], ignore_errors=True)

BENCHMARKS_DIRECTORY = Path(os.environ["BENCHMARKS_DIRECTORY"])

SECRET_KEY = "nothing is signed here"
INSTALLED_APPS = ["jobs", "benchmarks"]
ROOT_URLCONF = "benchmarks.settings"
urlpatterns = []
USE_TZ = True

# As the site has it.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(BENCHMARKS_DIRECTORY / "db.sqlite3"),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            "timeout": 20,
        },
    }
}

JOBS = {"AUTOSTART": False, **json.loads(os.environ.get("BENCHMARKS_JOBS", "{}"))}
