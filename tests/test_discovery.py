"""How tasks modules are found, each in isolation."""

import importlib
import sys

import pytest

import jobs
from jobs.errors import NotRegistered
from jobs.registry import Registry, registry


@pytest.fixture
def app(tmp_path, monkeypatch):
    """Make an app, whose tasks module has this source."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    monkeypatch.setattr(registry, "broken_modules", {})
    made = []

    def make(name, source=None):
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").touch()
        made.extend((name, f"{name}.tasks"))
        if source is not None:
            (package / "tasks.py").write_text(source)
        return name

    yield make
    for module in made:
        sys.modules.pop(module, None)


GOOD = "import jobs\n@jobs.register\ndef work(): return 'good'\n"
BROKEN = {
    "ImportError": ("import no_such_module_anywhere\n", "ModuleNotFoundError: No module named 'no_such_module"),
    "SystemExit": ("raise SystemExit('the config is missing')\n", "SystemExit: the config is missing"),
    "SyntaxError": ("def f(:\n", "SyntaxError"),
    "registration": ("import jobs\n@jobs.register\ndef f(): yield\n", "RegistrationError"),
    "an option": ("import jobs\n@jobs.register(timeout=5)\ndef f(): ...\n", "timeout"),
}


def test_the_module_of_an_app_is_imported(app):
    registry.discover([app("lc_good", GOOD)])
    assert registry.get("lc_good.tasks.work")() == "good"
    assert registry.broken_modules == {}


def test_an_app_without_one_is_no_problem(app):
    registry.discover([app("lc_none"), "lc_no_such_app_at_all"])
    assert registry.broken_modules == {}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_module_stops_no_other(app, what):
    source, problem = BROKEN[what]
    registry.discover([app("lc_broken", source), app("lc_good", GOOD)])
    assert registry.get("lc_good.tasks.work")() == "good"
    assert list(registry.broken_modules) == ["lc_broken.tasks"]
    assert problem in registry.broken_modules["lc_broken.tasks"]


def test_who_asks_for_its_functions_is_told_of_the_broken_module(app):
    registry.discover([app("lc_broken", "raise ImportError('no driver')\n")])
    with pytest.raises(NotRegistered, match=r"its module lc_broken\.tasks could not be imported \(ImportError: no dri"):
        jobs.enqueue("lc_broken.tasks.work")
    with pytest.raises(NotRegistered) as caught:
        jobs.enqueue("lc_broken.tasks_of_another")
    assert "could not be imported" not in str(caught.value)


def test_a_module_that_was_mended_is_no_longer_broken(app, tmp_path):
    registry.discover([app("lc_broken", "raise ImportError('no driver')\n")])
    (tmp_path / "lc_broken" / "tasks.py").write_text(GOOD + "# of another size, so that no old bytecode is taken\n")
    importlib.invalidate_caches()
    registry.discover(["lc_broken"])
    assert registry.broken_modules == {}
    assert "lc_broken.tasks.work" in registry


def test_a_module_may_be_imported_again(app):
    registry.discover([app("lc_good", GOOD)])
    first = registry.get("lc_good.tasks.work")
    importlib.reload(sys.modules["lc_good.tasks"])
    assert registry.get("lc_good.tasks.work") is not first


def test_a_registry_of_its_own_knows_nothing(app):
    own = Registry()
    own.discover([app("lc_broken", "raise SystemExit\n")])
    assert list(own) == []
    assert "lc_broken.tasks" in own.broken_modules
    assert registry.broken_modules == {}


def test_the_tasks_of_installed_apps_are_there():
    assert "config.tasks.fraud_alert" in registry
    assert "tests.tasks.lifecycle_add" in registry
