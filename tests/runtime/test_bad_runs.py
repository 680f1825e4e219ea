"""Runs that cannot be executed at all: each fails in its own words, and stops nobody else."""

import importlib

import pytest

import jobs
from jobs.models import Attempt, Run
from jobs.registry import registry
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def stored(ok, **columns) -> Run:
    """A run as an earlier version of the site, or a person with SQL, may have left it."""
    run = ok.enqueue()
    Run.objects.filter(pk=run.pk).update(**columns)
    return run


@pytest.fixture
def renamed(task):
    """A function with a queued run whose parameter has another name by now."""

    def enqueue():
        @task
        def pay(amount: int):
            raise AssertionError("must not be called")

        run = pay.enqueue(amount=1)
        registry.discard(pay.name)

        @task
        def pay(euros: int):
            raise AssertionError("must not be called")

        return run

    return enqueue


@pytest.fixture
def broken_module(tmp_path, monkeypatch):
    (tmp_path / "runtime_broken").mkdir()
    (tmp_path / "runtime_broken" / "__init__.py").touch()
    (tmp_path / "runtime_broken" / "tasks.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    registry.discover(["runtime_broken"])
    yield "runtime_broken.tasks"
    registry.broken_modules.pop("runtime_broken.tasks", None)


# Where the path or the stored parameters are wrong: what is stored, the reason's code, and what it says.
CASES = {
    "deleted": ({"task": "runtime.deleted"}, "not_registered", "is not registered as a task function"),
    "misspelt": ({"task": "runtime.okk"}, "not_registered", "Did you mean 'runtime.ok'?"),
    "__main__": ({"task": "__main__.f"}, "not_registered", "'__main__.f' is not registered"),
    "a class": ({"task": "collections.OrderedDict"}, "not_registered", "is not registered"),
    "a command": ({"task": "os.system", "arguments_json": '{"command": "true"}'}, "not_registered", "'os.system'"),
    "no name": ({"task": ""}, "not_registered", "'' is not registered"),
    "broken": ({"task": "runtime_broken.tasks.f"}, "not_registered", "could not be imported (ModuleNotFoundError"),
    "unknown parameter": ({"arguments_json": '{"a": 1}'}, "wrong_arguments", "a: is no parameter of this function"),
    "no JSON": ({"arguments_json": "{'a': 1}"}, "wrong_arguments", "the stored parameters are no JSON"),
    "empty": ({"arguments_json": ""}, "wrong_arguments", "the stored parameters are no JSON"),
    "a list": ({"arguments_json": "[1]"}, "wrong_arguments", "expected a JSON object, got list"),
    "NaN": ({"arguments_json": '{"a": NaN}'}, "wrong_arguments", "NaN is no JSON value"),
    "too deep": ({"arguments_json": "[" * 100_000}, "wrong_arguments", "no JSON"),
}


def test_each_fails_in_its_own_words_and_all_healthy_ones_succeed(start, task, ok, renamed, broken_module):
    bad = {name: [stored(ok, **columns) for _ in range(3)] for name, (columns, _, _) in CASES.items()}
    bad["renamed"] = [renamed()]
    healthy = [ok.enqueue() for _ in range(20)]
    scheduler = start(threads=2)
    for run in [*healthy, *(run for runs in bad.values() for run in runs)]:
        run.wait(PATIENCE)
    assert {run.state for run in healthy} == {"succeeded"}
    expected = {name: (code, words) for name, (_, code, words) in CASES.items()}
    expected["renamed"] = "wrong_arguments", "euros: is missing"
    for name, (code, words) in expected.items():
        for run in bad[name]:
            assert (name, run.state, run.reason_code) == (name, "failed", code)
            assert words in run.reason
            assert Attempt.objects.filter(run=run).count() == run.failures == 1
    assert not scheduler.stopped.is_set()


def test_a_renamed_parameter_is_named_with_what_there_is(start, renamed):
    run = renamed()
    start(threads=1)
    run.wait(PATIENCE)
    assert "amount: is no parameter of this function; there are: euros" in run.reason


def test_a_parameter_error_of_the_functions_own_is_an_exception_like_others(start, task):
    """It enqueues something with wrong parameters: that is no fault of its own run's parameters."""

    @task
    def inner(number: int): ...

    @task
    def outer():
        inner.enqueue(number="one")

    run = outer.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert (run.state, run.reason_code) == ("failed", "function_raised")
    assert "ParameterError" in run.reason


def test_a_not_registered_error_of_the_functions_own_too(start, task):
    @task
    def outer():
        jobs.enqueue("no.such.function")

    run = outer.enqueue()
    start(threads=1)
    run.wait(PATIENCE)
    assert (run.state, run.reason_code) == ("failed", "function_raised")
    assert Attempt.objects.get(run=run).traceback.startswith("Traceback")
