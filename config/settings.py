"""Settings of the site, read from the environment and from an optional file `.env` beside manage.py.

Without any of it the site is safe: no debug pages, HTTPS only, local host names only, a secret key of its own.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

from config.private_file import read_or_create

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
if (BASE_DIR / ".env").exists():
    env.read_env(BASE_DIR / ".env")
# A variable that is set to nothing is not set: an empty HTTPS= must not switch HTTPS off.
env.ENVIRON = {name: value for name, value in os.environ.items() if value}

# The demo is looked at on http://127.0.0.1, where no certificate exists, and with DEBUG off as a real site has it. With
# HTTPS on, every page would redirect to an address that nobody serves, and the login cookie would never be sent.
IS_DEMO = sys.argv[1:2] == ["demo"]

DEBUG = env.bool("DEBUG", default=False)
HTTPS = env.bool("HTTPS", default=not DEBUG) and not IS_DEMO

# Everything the site writes lies here: database, secret key, collected static files, reports of the demo.
VAR_DIR = Path(env.str("VAR_DIR", default=str(BASE_DIR / "var")))
STATIC_ROOT = VAR_DIR / "static"
with suppress(OSError):  # a read-only place is fine when database and secret key come from the environment
    STATIC_ROOT.mkdir(parents=True, exist_ok=True)

# Not through env(): django-environ takes a value that starts with "$" for the name of another variable.
SECRET_KEY = env.ENVIRON.get("SECRET_KEY") or read_or_create(VAR_DIR / "secret_key", get_random_secret_key)

LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=LOCAL_HOSTS) + (LOCAL_HOSTS if IS_DEMO else [])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

SECURE_SSL_REDIRECT = HTTPS
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
# Browsers remember this promise for so long, and nobody can take it back: one hour at first; raise it to 31536000 (a
# year) when all works. It includes the host's subdomains; set HSTS_SUBDOMAINS=off where one of them still speaks plain
# http. The word "preload" has no effect below a year, and above it only after the owner has registered the domain.
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=3600) if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env.bool("HSTS_SUBDOMAINS", default=True)

# Browsers load and run nothing but what this site serves, whatever text finds its way into a page.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
    }
}

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "jobs",
    "config",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# The default is no URL, because a folder's name may hold characters that mean something in one.
SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(VAR_DIR / "db.sqlite3")}
DATABASES = {"default": env.db_url("DATABASE_URL") if "DATABASE_URL" in env else SQLITE}
OPTIONS_OF_ENGINES = {
    # A transaction that first reads and then writes fails with "database is locked", whatever the timeout, when another
    # connection has written in between. IMMEDIATE takes the write lock at the beginning, where waiting helps. For the
    # same reason there are no ATOMIC_REQUESTS. WAL lets pages read while runs are written.
    "django.db.backends.sqlite3": {
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        "timeout": 20,
    },
    # A server that is cut off without a word is given up after a minute, not after hours.
    "django.db.backends.postgresql": {
        "connect_timeout": 10,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
    },
    "django.db.backends.mysql": {"charset": "utf8mb4", "connect_timeout": 10},
}
for database in DATABASES.values():
    database["OPTIONS"] = OPTIONS_OF_ENGINES.get(database["ENGINE"], {}) | database.get("OPTIONS", {})

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "home"

LANGUAGE_CODE = "en-us"
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
USE_TZ = True

STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # the apps' own files are served as they are: no collectstatic needed

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO").upper()},
    "loggers": {"django": {"handlers": [], "level": "INFO"}},  # through the root's handler, once
}

# JOBS_THREADS=8 in the environment is JOBS["THREADS"] = 8; what is not set keeps the app's default.
JOBS_READERS = {
    "AUTOSTART": env.bool,
    "EXECUTOR": env.str,
    "THREADS": env.int,
    "QUEUES": env.list,
    "AGEING_SECONDS": env.float,
    "POLL_SECONDS": env.float,
    "NOTIFY": env.bool,
    "HEARTBEAT_SECONDS": env.float,
    "LOST_AFTER_SECONDS": env.float,
    "GRACE_SECONDS": env.float,
    "MAX_LOG_BYTES": env.int,
    "MAX_RESULT_BYTES": env.int,
    "PROCESS_RUNS": env.int,
    "PROCESS_MEMORY_BYTES": env.int,
    "CAPTURE_PRINTS": env.bool,
    "COMMANDS": env.list,
}


def read_jobs_setting(key):
    try:
        return JOBS_READERS[key](f"JOBS_{key}")
    except ValueError:
        raise ImproperlyConfigured(f"JOBS_{key} must be a number, got {env.ENVIRON[f'JOBS_{key}']!r}.") from None


JOBS = {key: read_jobs_setting(key) for key in JOBS_READERS if f"JOBS_{key}" in env}
if IS_DEMO:
    JOBS["AUTOSTART"] = False  # it starts a scheduler itself, with one thread
