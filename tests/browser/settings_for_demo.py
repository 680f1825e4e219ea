"""Settings of the demo that is photographed: with a task that stays where it is."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.browser"]
