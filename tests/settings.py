"""Settings of the test-suite: the site's own, on a database file of its own, with nothing started by itself."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("SECRET_KEY", "only-for-tests")

from config.settings import *  # noqa: F403
from config.settings import DATABASES, INSTALLED_APPS

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: threads and other processes of a test must see the same database.
    name = str(Path(tempfile.gettempdir()) / f"jobs-tests-{os.getpid()}.sqlite3")
    DATABASES["default"].setdefault("TEST", {})["NAME"] = name

INSTALLED_APPS = [*INSTALLED_APPS, "tests"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
HTTPS = False
SECURE_SSL_REDIRECT = False
JOBS = {"HEARTBEAT_SECONDS": 0.2, "LOST_AFTER_SECONDS": 2.0, "GRACE_SECONDS": 5.0, "POLL_SECONDS": 0.2}
