"""`manage.py demo`: the site with example data, one scheduler thread, and runs to look at."""

import signal

from django.core.management import BaseCommand, CommandError, call_command
from django.urls import reverse

from config import demo
from jobs.runtime import scheduler


class Command(BaseCommand):
    help = "Serves the site with example data and runs a few jobs whose order shows their priorities."

    def add_arguments(self, parser):
        parser.add_argument("--host", default="127.0.0.1", help="Address to listen on (default: this computer only).")
        parser.add_argument("--port", type=int, default=8000, help="Port to listen on (default: 8000).")
        parser.add_argument(
            "--no-serve",
            dest="serve",
            action="store_false",
            help="Serve no pages: wait for the runs, print how they ended, and stop.",
        )

    def handle(self, *, host, port, serve, **options):
        try:
            if serve:
                demo.check_port(host, port)
            password = demo.prepare()
            self.run(host, port, serve, password)
        except demo.DemoError as error:
            raise CommandError(error) from error

    def run(self, host, port, serve, password):
        signal.signal(signal.SIGTERM, _leave)
        scheduler.start(kind="demo", threads=1)
        try:
            runs = demo.enqueue_runs()
            if serve:
                self.tell(_address(host, port), password)
                call_command("runserver", f"{_in_url(host)}:{port}", use_reloader=False)
            else:
                self.report(demo.wait_until_finished(runs))
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def tell(self, url, password):
        self.stdout.write(
            f"""
The only thread is busy with "Import transactions". Four runs wait behind it. They were enqueued in this order:
    Daily report (priority 10), Fraud alert (1), User data backfill (5), Always fails (7)
and they start in this one, because a lower number is more urgent:
    Fraud alert, User data backfill, Always fails, Daily report

Watch them:  {url}{reverse("jobs:runs")}
The admin:   {url}{reverse("admin:index")}
Log in as:   {demo.USERNAME}
Password:    {password}
"""
        )
        self.stdout.flush()  # into a pipe as well, where nothing more may come for a long time

    def stop(self):
        self.stdout.write("Stopping: what runs may finish first. Once more ^C, and it is interrupted.")
        try:
            scheduler.stop()
        except (KeyboardInterrupt, SystemExit):
            scheduler.stop(grace_seconds=0)

    def report(self, runs):
        self.stdout.write("\nThe runs, in the order in which they started:")
        for run in runs:
            self.stdout.write(f"    {run.title}: {run.state}")


def _leave(signum, frame):
    raise SystemExit(0)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _address(host: str, port: int) -> str:
    return f"http://{_in_url(host)}:{port}"
