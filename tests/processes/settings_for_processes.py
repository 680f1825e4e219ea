"""Settings of the processes that the tests start: the site's own, read from the environment, with the tests' tasks."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests"]
