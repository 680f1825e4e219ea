"""The site itself is an installed app, so that its task functions and its `demo` command are found."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "config"
    verbose_name = "Site and demo"
