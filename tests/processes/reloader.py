"""`runserver` with its reloader, of a copy of the site: so a file can be touched."""

import itertools
import os
import shutil
import time

from tests.processes.support import PATIENCE, ROOT, Process, Site, free_port
from tests.runtime.support import wait_until


def start_reloading(site: Site, **environment: str) -> Process:
    for name in ("benchmarks", "config", "jobs", "templates", "tests"):
        shutil.copytree(ROOT / name, site.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    manage = shutil.copy(ROOT / "manage.py", site.folder)
    address = f"127.0.0.1:{free_port()}"
    return site.start(manage, "runserver", address, PYTHONPATH=str(site.folder), **environment)


def change_code(site: Site, server: Process) -> None:
    times = itertools.count(int(time.time()) + 10)

    def is_reloading():  # a file that the reloader has not looked at yet has not changed in its eyes
        os.utime(site.folder / "config" / "urls.py", (next(times),) * 2)
        time.sleep(0.2)  # it looks once a second; meanwhile the file need not be touched all the time
        return "changed, reloading" in server.output

    wait_until(is_reloading, PATIENCE)
