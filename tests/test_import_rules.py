"""What importing a part of the package must not pull in."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def loaded_after(statement):
    """The names of the modules that a fresh interpreter has loaded after this statement."""
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def is_django(module):
    return module == "django" or module.startswith("django.")


@pytest.mark.parametrize("statement", ["import jobs", "import jobs.core", "import jobs.errors"])
def test_no_django(statement):
    loaded = loaded_after(statement)
    assert "jobs" in loaded
    assert not [module for module in loaded if is_django(module)]


def test_every_module_of_core_works_without_django():
    names = sorted(path.stem for path in (ROOT / "jobs" / "core").glob("*.py") if path.stem != "__init__")
    assert "states" in names
    loaded = loaded_after("import " + ", ".join(f"jobs.core.{name}" for name in names))
    assert {f"jobs.core.{name}" for name in names} <= loaded
    assert not [module for module in loaded if is_django(module)]
    assert {module for module in loaded if module.split(".")[0] == "jobs"} <= {
        "jobs", "jobs.core", *(f"jobs.core.{name}" for name in names)
    }  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        "import jobs; jobs.register, jobs.current_run, jobs.NotRegistered, jobs.TaskFunction, jobs.enqueue",
        "from jobs.runtime.context import current_run; current_run().progress(1)",
        "from jobs.registry import register",
    ],
)
def test_a_tasks_module_needs_no_apps_and_no_settings(statement):
    loaded = loaded_after(statement)
    assert "jobs.models" not in loaded
    assert "jobs.lifecycle" not in loaded


def test_a_task_function_can_be_registered_before_the_apps_are_ready():
    code = "import jobs; ns = {'__name__': 'early'}; exec('def f(x: int): return x', ns); f = jobs.register(ns['f'])"
    loaded = loaded_after(f"{code}; assert f(3) == 3 and f.name == 'early.f'")
    assert "jobs.models" not in loaded


def test_every_public_name_can_be_had():
    import jobs

    for name in jobs.__all__:
        assert getattr(jobs, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = jobs.no_such_name
