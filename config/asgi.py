"""The site for ASGI servers."""

import os

from django.core.asgi import get_asgi_application

from jobs.asgi import with_scheduler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = with_scheduler(get_asgi_application())
