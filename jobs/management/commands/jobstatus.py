"""`manage.py jobstatus`: how the site stands, for people and for monitoring."""

import json
import sys

from jobs.lifecycle.status import status
from jobs.management.base import JobsCommand

NOBODY_WORKS = 2


class Command(JobsCommand):
    help = f"Show workers, queues and runs. Exit code 0 if a worker is alive, {NOBODY_WORKS} if nobody works."

    def add_arguments(self, parser):
        parser.add_argument("--json", action="store_true", dest="as_json", help="Print JSON.")

    def handle(self, *, as_json=False, **options):
        now = status()
        if as_json:
            self.stdout.write(json.dumps(now, indent=2))
        else:
            self._tell(now)
        if not now["is_working"]:
            sys.exit(NOBODY_WORKS)

    def _tell(self, now: dict) -> None:
        working = [worker for worker in now["workers"] if worker["is_alive"]]
        threads = sum(worker["threads"] for worker in working)
        self.stdout.write(f"Workers: {len(working)}, threads: {threads}." if working else "Nobody works.")
        for worker in now["workers"]:
            self.stdout.write(f"  {worker['name']} ({worker['kind']}): {worker['state']}, {_last_sign(worker)}")
        self.stdout.write(", ".join(f"{count} {state}" for state, count in now["runs"].items()) + ".")
        self.stdout.write(f"{now['failed_last_hour']} failed within the last hour.")
        for queue in now["queues"]:
            paused = ", paused" if queue["is_paused"] else ""
            waits = f"the oldest for {queue['oldest_waiting_seconds']:.0f} s"
            self.stdout.write(f"  {queue['name']}: {queue['queued']} queued, {waits}{paused}")


def _last_sign(worker: dict) -> str:
    ago = f"last sign of life {worker['last_beat_seconds_ago']:.0f} s ago"
    return ago if worker["is_alive"] else f"{ago}: silent for too long"
