"""Settings of the server that the browser looks at: those of other processes of tests, with tasks to be watched."""

from tests.processes.settings_for_processes import *  # noqa: F403
from tests.processes.settings_for_processes import INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS = [*INSTALLED_APPS, "tests.browser"]
MIDDLEWARE = ["tests.browser.server.forget_content_types", *MIDDLEWARE]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
