"""A copy of the site in a folder of its own, and a way to run its manage.py with nothing but the given environment."""

import shutil
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Site:
    def __init__(self, folder: Path):
        self.folder = folder
        self.var = folder / "var"
        for name in ("config", "jobs", "templates"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "manage.py", folder)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(self.folder / "manage.py"), *arguments]

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        """Start manage.py; what it prints, errors included, is in `stdout`."""
        return subprocess.Popen(
            self.command(*arguments),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def manage(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run manage.py to its end: its exit code and what it printed."""
        process = self.start(*arguments, **environment)
        deadline = Timer(120, process.kill)
        deadline.start()
        output, _ = process.communicate()
        deadline.cancel()
        return process.returncode, output

    def setting(self, expression: str, *arguments: str, **environment: str) -> str:
        """What an expression over `s`, the settings, is in a process whose command line has these arguments."""
        code = f"import sys; sys.argv[1:] = {arguments!r}; from config import settings as s; print(({expression}))"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60
        )
        return done.stdout.strip() or done.stderr


@pytest.fixture
def site(tmp_path) -> Site:
    return Site(tmp_path / "the site")  # a space in the path must not matter
