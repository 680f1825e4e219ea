"""What can be registered, under which names, with which options."""

import functools
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

import jobs
from jobs.errors import JobsError, NotRegistered, RegistrationError
from jobs.registry import Registry, registry


@pytest.fixture(autouse=True)
def keep_registry(monkeypatch):
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    monkeypatch.setattr(registry, "broken_modules", {})


def plain(a, b=2):
    """Add two numbers.

    And more about it.
    """
    return a + b


def test_a_registered_function_is_still_a_function():
    task = jobs.register(plain)
    assert task(1) == 3
    assert task(1, b=5) == 6
    assert task.__name__ == "plain"
    assert task.__wrapped__ is plain


def test_what_it_is_called():
    task = jobs.register(plain)
    assert task.name == "tests.test_registry.plain"
    assert (task.label, task.help) == ("Plain", "Add two numbers.")
    assert registry.get(task.name) is task
    assert task.name in registry
    assert task in list(registry)
    assert repr(task) == "<TaskFunction tests.test_registry.plain>"


def documented(day, rows: int = 5, dry_run: bool = False, note: str = ""):
    """Recompute one day.

    It takes a while, and
    can be repeated.

    Args:
        day: the day, by the clock
            of the shop
        rows (int): how many at once
        gone: nobody knows
        note:

    Returns:
        nothing
    """


def test_what_its_docstring_says():
    task = jobs.register(documented)
    assert task.help == "Recompute one day."
    assert task.description == "It takes a while, and\ncan be repeated."
    assert task.parameter_helps == {
        "day": "the day, by the clock\nof the shop", "rows": "how many at once", "gone": "nobody knows",
    }  # fmt: skip


STYLES = {
    "reStructuredText": "Recompute.\n\n:param rows: how many at once\n:returns: nothing",
    "Google": "Recompute.\n\nArgs:\n    rows: how many at once",
    "NumPy": "Recompute.\n\nParameters\n----------\nrows : int\n    how many at once",
    "Epydoc": "Recompute.\n\n@param rows: how many at once",
}


@pytest.mark.parametrize("docstring", STYLES.values(), ids=STYLES)
def test_parameters_are_explained_in_any_style(docstring):
    def func(rows: int): ...

    func.__doc__ = docstring
    task = jobs.register(name="explained")(func)
    assert (task.help, task.description) == ("Recompute.", "")
    assert task.parameter_helps == {"rows": "how many at once"}


@pytest.mark.parametrize(
    "docstring",
    [None, "", "   ", ":param", ":param x", "::    :param int x::::paramReturns:Raises-----Returns:@Example:"],
)
def test_a_docstring_that_cannot_be_read_says_nothing(docstring):
    def func(rows: int): ...

    func.__doc__ = docstring
    task = jobs.register(name="explained")(func)
    assert (task.description, task.parameter_helps) == ("", {})
    assert task.form().as_p()


def test_its_form():
    task = jobs.register(documented)
    form = task.form(stored={"day": "monday", "rows": 7, "old": 1})
    assert list(form.fields) == ["day", "rows", "dry_run", "note"]
    assert form.fields["rows"].help_text == "how many at once"
    assert form.fields["rows"].initial == "7"
    assert form.forgotten == ["old"]
    sent = {"parameter-day": '"friday"', "parameter-rows": "5", "parameter-dry_run": "on", "parameter-note": ""}
    bound = task.form(sent, stored={"rows": 7})
    assert bound.is_valid()
    assert bound.arguments == {"day": "friday", "rows": 5, "dry_run": True}
    assert not task.form({}).is_valid()


def test_options():
    task = jobs.register(
        name="sums.add", label="Sum", priority=-5, queue="slow", on_lost="fail", max_losses=1, unique_key="k"
    )(plain)
    assert (task.name, task.label) == ("sums.add", "Sum")
    options = task.options
    assert (options.priority, options.queue, options.on_lost) == (-5, "slow", "fail")
    assert (options.max_losses, options.unique_key) == (1, "k")


def test_defaults():
    options = jobs.register(plain).options
    assert (options.priority, options.queue, options.on_lost) == (0, "default", "requeue")
    assert (options.max_losses, options.unique_key) == (3, None)


async def coroutine(): ...


async def async_generator():
    yield


def generator():
    yield


def takes_args(*args): ...


def takes_kwargs(**kwargs): ...


class Callable:
    def __call__(self): ...


@pytest.mark.parametrize(
    ("func", "why"),
    [
        (async_generator, "async_generator is a generator function"),
        (generator, "generator is a generator function"),
        (lambda: None, "A lambda has no name"),
        (Callable, "Only a function can be registered.*type"),
        (Callable(), "Only a function can be registered.*Callable"),
        (functools.partial(plain, 1), "Only a function can be registered.*partial"),
        ("tests.tasks.f", "Only a function can be registered.*str"),
        (User, "Only a function"),
        (takes_args, "args"),
        (takes_kwargs, "kwargs"),
    ],
    ids=lambda value: "",
)
def test_refused(func, why):
    before = set(registry)
    with pytest.raises(RegistrationError, match=why):
        jobs.register(func)
    assert set(registry) == before


def test_a_task_function_cannot_be_registered_again():
    task = jobs.register(plain)
    with pytest.raises(RegistrationError, match="Only a function can be registered"):
        jobs.register(task)


@pytest.mark.parametrize("option", ["limit_key", "limit", "rate", "retention"])
def test_what_is_not_built_yet_is_refused_by_name(option):
    with pytest.raises(TypeError, match=f"option '{option}' is not available in this version.*Available: .*priority"):
        jobs.register(**{option: 1})(plain)
    assert "tests.test_registry.plain" not in registry


@pytest.mark.parametrize(("option", "hint"), [("priorty", "Did you mean 'priority'?"), ("zzz", "Known options: name")])
def test_an_unknown_option_gets_a_hint(option, hint):
    with pytest.raises(TypeError, match=f"Unknown option '{option}'") as caught:
        jobs.register(**{option: 1})(plain)
    assert hint in str(caught.value)


def test_a_moment_is_no_property_of_a_function():
    with pytest.raises(TypeError, match="run_after"):
        jobs.register(run_after=None)(plain)


BAD_VALUES = [
    ("priority", "5", TypeError, "whole number"),
    ("priority", True, TypeError, "whole number"),
    ("priority", 101, ValueError, "100"),
    ("queue", "", ValueError, "queue must be a text of 1 to 100"),
    ("queue", "x" * 101, ValueError, "queue"),
    ("queue", None, ValueError, "queue"),
    ("queue", "a\x00b", ValueError, "queue must be a text .* without NUL and lone surrogates"),
    ("queue", "a\ud800b", ValueError, "lone surrogates"),
    ("unique_key", "a\ud800b", ValueError, "lone surrogates"),
    ("on_lost", "retry", ValueError, '"requeue" or "fail", got \'retry\''),
    ("on_lost", [], ValueError, "on_lost"),
    ("max_losses", 0, ValueError, "1 to 1000, got 0"),
    ("max_losses", 1001, ValueError, "max_losses"),
    ("max_losses", True, ValueError, "max_losses"),
    ("unique_key", "", ValueError, "unique_key"),
    ("unique_key", 5, ValueError, "unique_key"),
    ("unique_key", "k" * 256, ValueError, "unique_key"),
    ("max_attempts", 0, ValueError, "max_attempts must be a whole number from 1 to 1000, got 0"),
    ("max_attempts", 1001, ValueError, "max_attempts"),
    ("max_attempts", True, ValueError, "max_attempts"),
    ("max_attempts", "3", ValueError, "max_attempts"),
    ("backoff", 5, TypeError, "backoff must be a timedelta or a jobs.Backoff"),
    ("backoff", "soon", TypeError, "backoff must be"),
    ("backoff", timedelta(0), ValueError, "longer than nothing"),
    ("backoff", timedelta(days=366), ValueError, "at most 365 days"),
    *(
        (option, value, kind, f"{option} must be {why}")
        for option in ("timeout", "progress_timeout")
        for value, kind, why in [
            (5, TypeError, "a timedelta or None, got 5"),
            ("5", TypeError, "a timedelta"),
            (timedelta(0), ValueError, "longer than nothing"),
            (timedelta(seconds=-1), ValueError, "longer than nothing"),
            (timedelta.max, ValueError, "longer than nothing, at most"),
        ]
    ),
    ("executor", "celery", ValueError, "executor must be 'threads' or 'processes', got 'celery'"),
    ("executor", None, ValueError, "executor must be"),
    ("executor", [], ValueError, "executor must be"),
]


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("retry_on", "ValueError", "retry_on must be an exception class or a tuple of some, got 'ValueError'"),
        ("retry_on", (ValueError, 5), "retry_on must be"),
        ("retry_on", ValueError("one"), "retry_on must be"),
        ("give_up_on", int, "give_up_on must be"),
        ("interrupt", 1, "interrupt must be True or False, got 1"),
    ],
)
def test_what_belongs_to_the_code_is_checked_there_and_refused_elsewhere(option, value, why):
    with pytest.raises(TypeError, match=why):
        jobs.register(**{option: value})(plain)
    with pytest.raises(TypeError, match=f"Unknown option '{option}'"):
        jobs.register(plain).using(**{option: value})


def test_a_backoff_of_the_code_is_no_option_of_a_run():
    task = jobs.register(backoff=lambda failures, error: 5)(plain)
    with pytest.raises(TypeError, match="a function cannot be stored"):
        task.using(backoff=lambda failures, error: 5)


def test_one_exception_or_a_tuple_and_a_duration_or_a_backoff():
    options = jobs.register(retry_on=KeyError, give_up_on=(OSError,), backoff=timedelta(seconds=5))(plain).options
    assert (options.retry_on, options.give_up_on) == ((KeyError,), (OSError,))
    assert options.backoff == jobs.Backoff(timedelta(seconds=5), factor=1, cap=None, jitter=0)


def test_an_async_function_is_registered():
    assert jobs.register(coroutine).is_async
    assert not jobs.register(plain).is_async


@pytest.mark.parametrize(("option", "value", "kind", "why"), BAD_VALUES)
def test_a_bad_value_is_refused_at_both_doors(option, value, kind, why):
    with pytest.raises(kind, match=why):
        jobs.register(**{option: value})(plain)
    assert "tests.test_registry.plain" not in registry
    with pytest.raises(kind, match=why):
        jobs.register(plain).using(**{option: value})


@pytest.mark.parametrize("name", ["", "n" * 201, 5])
def test_a_bad_name(name):
    with pytest.raises(ValueError, match="name must be a text of 1 to 200"):
        jobs.register(name=name)(plain)
    with pytest.raises(ValueError, match="label must be a text of 1 to 200"):
        jobs.register(label=name)(plain)


def test_a_derived_name_that_is_too_long():
    def long(): ...

    long.__qualname__ = "n" * 200
    with pytest.raises(ValueError, match="name must be a text of 1 to 200"):
        jobs.register(long)


@pytest.mark.parametrize("option", ["name", "label"])
def test_using_takes_no_names(option):
    with pytest.raises(TypeError, match=f"Unknown option '{option}'"):
        jobs.register(plain).using(**{option: "x"})


def test_using_knows_what_is_near():
    with pytest.raises(TypeError, match="Did you mean 'run_after'"):
        jobs.register(plain).using(run_aftr=1)
    with pytest.raises(TypeError, match="'rate' is not available"):
        jobs.register(plain).using(rate=1)
    with pytest.raises(TypeError, match="run_after must be a datetime, a timedelta or None, got 5"):
        jobs.register(plain).using(run_after=5)


def test_using_leaves_the_function_as_it_was():
    task = jobs.register(plain)
    task.using(priority=-7)
    assert task.options.priority == 0


def test_two_functions_cannot_share_a_name():
    def other(): ...

    first = jobs.register(name="shared")(plain)
    with pytest.raises(
        RegistrationError, match=r"'shared' is already registered by tests\.test_registry\.plain.*other"
    ):
        jobs.register(name="shared")(other)
    assert registry.get("shared") is first


def test_the_same_function_may_come_again_as_its_module_is_imported_again():
    first = jobs.register(plain)
    again = jobs.register(priority=9)(plain)
    assert registry.get(first.name) is again


def test_an_unknown_name_gets_the_nearest_one():
    task = jobs.register(plain)
    with pytest.raises(NotRegistered, match=f"'{task.name}x' is not registered.*Did you mean '{task.name}'"):
        registry.get(task.name + "x")
    with pytest.raises(NotRegistered) as caught:
        Registry().get("no.such")
    assert "Did you mean" not in str(caught.value)
    assert "@jobs.register" in str(caught.value)


def test_the_errors_have_one_base():
    assert issubclass(NotRegistered, JobsError)
    assert issubclass(NotRegistered, LookupError)
    assert issubclass(RegistrationError, JobsError)
    assert issubclass(RegistrationError, TypeError)


def test_it_is_iterated_by_name():
    names = [task.name for task in registry]
    assert names == sorted(names)
    assert "tests.tasks.lifecycle_add" in names
