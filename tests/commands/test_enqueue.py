"""`manage.py enqueue`."""

from threading import Thread

import pytest
from django.db import connections

import jobs
from jobs.models import Run
from jobs.registry import registry
from jobs.testing import drain

pytestmark = pytest.mark.django_db


@pytest.fixture
def pay():
    from datetime import date

    @jobs.register(name="commands.pay", priority=7)
    def pay(amount: int, day: date | None = None, to: str = "", tags: list[str] | None = None) -> str:
        if amount < 0:
            raise ValueError("less than nothing")
        return f"{amount} {day} {to} {tags}"

    yield pay
    registry.discard(pay.name)


def test_it_stores_a_run_and_says_which(command, pay):
    ended = command("enqueue", pay.name, "--param", "amount=5")
    run = Run.objects.get()
    assert ended.code == 0
    assert ended.output == f"Run {run.pk} is queued.\n"
    assert (run.task, run.arguments, run.priority, run.queue) == (pay.name, {"amount": 5}, 7, "default")


def enqueue(command, task, *texts):
    return command("enqueue", task.name, *[part for text in texts for part in ("--param", text)])


# The texts, and the JSON values that are stored.
TEXTS = {
    "each as its type says": (
        ["amount=5", "day=2026-11-01", "to=a=b and more", 'tags=["x", "y"]'],
        {"amount": 5, "day": "2026-11-01", "to": "a=b and more", "tags": ["x", "y"]},
    ),
    "one item a line": (["amount=5", "tags=x y\nz"], {"amount": 5, "tags": ["x y", "z"]}),
    "empty ones": (["amount=0", "day=", "to=", "tags="], {"amount": 0, "day": None, "to": "", "tags": None}),
    "words that mean nothing": (["amount=5", "to=null"], {"amount": 5, "to": "null"}),
}


@pytest.mark.parametrize(("texts", "stored"), TEXTS.values(), ids=TEXTS)
def test_texts_become_the_types_of_the_function(command, pay, texts, stored):
    assert enqueue(command, pay, *texts).code == 0
    assert Run.objects.get().arguments == stored


def test_the_function_gets_its_types(command, pay):
    enqueue(command, pay, "amount=5", "day=2026-11-01", 'tags=["x", "y"]')
    drain()
    assert Run.objects.get().result == "5 2026-11-01  ['x', 'y']"


def test_options(command, pay):
    command("enqueue", pay.name, "--param", "amount=1", "--priority", "-100", "--queue", "slow")
    run = Run.objects.get()
    assert (run.priority, run.queue) == (-100, "slow")


def test_under_a_held_key_nothing_is_stored(command, pay):
    first = command("enqueue", pay.name, "--param", "amount=1", "--unique-key", "k")
    second = command("enqueue", pay.name, "--param", "amount=2", "--unique-key", "k")
    run = Run.objects.get()
    assert (first.code, second.code) == (0, 0)
    assert second.output == f"Run {run.pk} holds this key already.\n"


# Arguments after the name, and what the refusal says.
REFUSED = {
    "a missing parameter": ([], "amount: is missing"),
    "a wrong type": (["--param", "amount=five"], "amount: expected a whole number, such as 5; got 'five'"),
    "an empty text": (["--param", "amount="], "amount: expected a whole number, such as 5; got nothing"),
    "an unknown name": (["--param", "amount=1", "--param", "amuont=1"], "did you mean 'amount'?"),
    "no equals sign": (["--param", "amount"], "Write a parameter as NAME=VALUE, got 'amount'"),
    "no name": (["--param", "=5"], "Write a parameter as NAME=VALUE, got '=5'"),
    "given twice": (["--param", "amount=1", "--param", "amount=2"], "'amount' is given twice"),
    "a priority out of range": (["--param", "amount=1", "--priority", "101"], "between -100 (most urgent) and 100"),
    "a priority that is no number": (["--param", "amount=1", "--priority", "high"], "invalid int value: 'high'"),
    "an empty queue": (["--param", "amount=1", "--queue", ""], "queue must be a text"),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_and_nothing_is_stored(command, pay, arguments, words):
    ended = command("enqueue", pay.name, *arguments)
    assert ended.code == 1
    assert words in ended.error
    assert not Run.objects.exists()


def test_an_unknown_function_is_refused_with_the_nearest_name(command, pay):
    ended = command("enqueue", "commands.pya")
    assert ended.code == 1
    assert "Did you mean 'commands.pay'?" in ended.error


@pytest.mark.django_db(transaction=True)
class TestWait:
    @pytest.fixture
    def worker(self):
        """Somebody who executes what is enqueued, once it is there."""

        def work():
            from tests.runtime.support import wait_until

            wait_until(Run.objects.exists)
            drain()
            connections.close_all()

        thread = Thread(target=work)
        thread.start()
        yield
        thread.join()

    def test_it_tells_the_result(self, command, pay, worker):
        ended = command("enqueue", pay.name, "--param", "amount=1", "--wait")
        run = Run.objects.get()
        assert ended.code == 0
        assert ended.output.endswith(f'Run {run.pk} has succeeded. Result: "1 None  None"\n')

    def test_a_failure_is_exit_code_1_with_its_reason(self, command, pay, worker):
        ended = command("enqueue", pay.name, "--param", "amount=-1", "--wait")
        assert ended.code == 1
        assert "has ended: failed. The function raised ValueError: less than nothing" in ended.error

    def test_nobody_who_works_is_a_timeout(self, command, pay):
        ended = command("enqueue", pay.name, "--param", "amount=1", "--wait", "--timeout", "0.05")
        assert ended.code == 1
        assert "is still queued" in ended.error
        assert Run.objects.get().state == "queued"
