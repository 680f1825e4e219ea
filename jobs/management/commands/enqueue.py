"""`manage.py enqueue`: store a run from the command line."""

from django.core.management.base import CommandError

from jobs.core.states import State
from jobs.errors import JobsError
from jobs.management.base import JobsCommand
from jobs.models import Run
from jobs.parameters import dumps, loads, mask
from jobs.registry import registry


class Command(JobsCommand):
    help = "Store a run of a task function. Without a worker it waits; with --wait this command waits for its end."

    def add_arguments(self, parser):
        parser.add_argument("task", help="Name of the task function, e.g. shop.tasks.backfill.")
        parser.add_argument(
            "--param", action="append", default=[], metavar="NAME=VALUE",
            help="A parameter, written as in a form. May be given several times.",
        )  # fmt: skip
        parser.add_argument("--priority", type=int, help="-100 (most urgent) to 100.")
        parser.add_argument("--queue")
        parser.add_argument("--unique-key", help="Store nothing if a run with this key is unfinished.")
        parser.add_argument("--wait", action="store_true", help="Wait for the end; exit code 1 unless it succeeded.")
        parser.add_argument("--timeout", type=float, help="Longest wait in seconds, with --wait.")

    def handle(self, *, task, param, wait=False, timeout=None, **options):
        run = self._enqueue(task, param, options)
        self.stdout.write(f"Run {run.pk} is {run.state}." if run.is_new else f"Run {run.pk} holds this key already.")
        if wait:
            self._wait(run, timeout)

    def _enqueue(self, name: str, params: list[str], options: dict) -> Run:
        given = {key: options[key] for key in ("priority", "queue", "unique_key") if options.get(key) is not None}
        try:
            task = registry.get(name)
            return task.using(**given).enqueue(**task.signature.from_text(_texts(params)))
        except (JobsError, TypeError, ValueError) as error:
            raise CommandError(str(error)) from None

    def _wait(self, run: Run, timeout: float | None) -> None:
        try:
            run.wait(timeout)
        except TimeoutError as error:
            raise CommandError(str(error)) from None
        if run.state != State.SUCCEEDED:
            raise CommandError(f"Run {run.pk} has ended: {run.state}. {run.reason}")
        self.stdout.write(f"Run {run.pk} has succeeded.{_result(run)}")


def _result(run: Run) -> str:
    """What the function returned, with what is secret by its name masked."""
    if run.result_json is None:
        return ""
    return f" Result: {dumps(mask({'result': loads(run.result_json)})['result'])}"


def _texts(params: list[str]) -> dict[str, str]:
    texts = {}
    for each in params:
        name, separator, value = each.partition("=")
        if not separator or not name:
            raise CommandError(f"Write a parameter as NAME=VALUE, got {each!r}.")
        if name in texts:
            raise CommandError(f"The parameter {name!r} is given twice.")
        texts[name] = value
    return texts
