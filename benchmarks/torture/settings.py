"""Settings of the processes under torture: the app alone, with database (DATABASE_URL) and log as the site has them."""

import json
import os

os.environ.setdefault("SECRET_KEY", "nothing is signed here")

from config.settings import DATABASES, LOGGING, SECRET_KEY  # noqa: F401

INSTALLED_APPS = ["jobs", "benchmarks.torture"]
ROOT_URLCONF = "benchmarks.torture.settings"
urlpatterns = []
USE_TZ = True

# A dead worker is found within seconds, so that much can happen in a minute.
JOBS = {
    "AUTOSTART": False,
    "HEARTBEAT_SECONDS": 0.5,
    "LOST_AFTER_SECONDS": 2.5,
    "POLL_SECONDS": 0.2,
    **json.loads(os.environ.get("TORTURE_JOBS", "{}")),
}
