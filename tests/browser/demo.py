"""`manage.py demo` in a folder of its own, as a place to take pictures of."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]


class Demo:
    """A demo that serves pages on `url`, where `demo` logs in with `password`."""

    def __init__(self, folder: Path, settings: str):
        self.folder = folder
        self._environment = os.environ | {
            "VAR_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3",
            "DJANGO_SETTINGS_MODULE": settings,
            "SECRET_KEY": "only-for-screenshots",
            "RUNTIME_MARKS": str(folder / "marks"),
        }
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._errors = folder / "errors"
        with self._errors.open("wb") as errors:
            command = self._command("demo", "--port", str(port))
            streams = {"stdout": subprocess.PIPE, "stderr": errors, "text": True}
            self.process = subprocess.Popen(command, cwd=ROOT, env=self._environment, **streams)

    def read_password(self) -> None:
        for line in self.process.stdout:
            if found := re.match(r"Password: +(\S+)", line):
                self.password = found[1]
                return
        raise SystemExit(f"The demo did not start:\n{self._errors.read_text()}")

    def make_user(self, name: str, password: str) -> None:
        """A user who may nothing."""
        code = f"from django.contrib.auth.models import User; User.objects.create_user({name!r}, password={password!r})"
        subprocess.run(
            self._command("shell", "--verbosity", "0", "--command", code), cwd=ROOT, env=self._environment, check=True
        )

    def let_go(self, run: int, step: int) -> None:
        (self.folder / f"marks.{run}.{step}").touch()

    def end(self) -> None:
        (self.folder / "marks.all").touch()
        self.process.terminate()
        self.process.wait()

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(ROOT / "manage.py"), *arguments]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def started_demo(settings: str = "config.settings") -> Iterator[Demo]:
    with TemporaryDirectory() as folder:
        demo = Demo(Path(folder), settings)
        try:
            demo.read_password()
            yield demo
        finally:
            demo.end()
