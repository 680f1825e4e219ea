"""A site that cannot start must not be held up by the scheduler that waits for it."""

from tests.processes.test_nothing_starts import empty  # noqa: F401


def test_a_site_that_cannot_start_ends_at_once(empty):  # noqa: F811
    """An app behind this one fails while the apps load; the time of grace would be an hour."""
    (empty.folder / "broken_app").mkdir()
    (empty.folder / "broken_app" / "__init__.py").touch()
    (empty.folder / "broken_app" / "apps.py").write_text(
        "from django.apps import AppConfig\n"
        "class Broken(AppConfig):\n"
        "    name = 'broken_app'\n"
        "    def ready(self):\n"
        "        raise RuntimeError('this app is broken')\n"
    )
    (empty.folder / "broken_settings.py").write_text(
        "from config.settings import *\nINSTALLED_APPS = [*INSTALLED_APPS, 'broken_app']\n"
    )
    path = f"{empty.folder}:{empty.environment['PYTHONPATH']}"
    environment = {"PYTHONPATH": path, "DJANGO_SETTINGS_MODULE": "broken_settings", "JOBS_GRACE_SECONDS": "3600"}
    process = empty.manage("runserver", "--noreload", **environment)
    assert process.wait() == 1
    assert "this app is broken" in process.output
