"""Task functions: `register`, what it gives back, and how they are found. Only what is here can ever run."""

import difflib
import functools
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec

import docstring_parser

from jobs.declared import DeclaredSchedule, declared_schedules
from jobs.errors import NotRegistered, RegistrationError
from jobs.options import REGISTER_OPTIONS, USING_OPTIONS, Options, check_options
from jobs.parameters import ParametersForm, Signature


class TaskFunction:
    """A registered function. Calling it calls the plain function; `enqueue` stores a run of it.

    `name` identifies it in the database, `label` is what people read, `help` is the first line of its docstring.
    """

    do_not_call_in_templates = True  # Django's templates call what can be called: {{ task.label }} must not run it

    def __init__(
        self,
        func: Callable,
        *,
        name: str,
        label: str | None,
        options: Options,
        schedules: tuple[DeclaredSchedule, ...] = (),
    ):
        functools.update_wrapper(self, func)
        self.func = func
        self.name = name
        self._docstring = inspect.getdoc(func) or ""
        self.help = self._docstring.partition("\n")[0]
        self.label = label or func.__name__.replace("_", " ").capitalize()
        self.options = options
        self.is_async = inspect.iscoroutinefunction(func)
        self.signature = Signature.of(func, task_name=name)
        self.schedules = schedules
        for each in schedules:
            self.signature.bind((), dict(each.parameters))

    def __call__(self, *args, **kwargs):
        return self.func(*args, **kwargs)

    def __repr__(self):
        return f"<TaskFunction {self.name}>"

    @cached_property
    def description(self) -> str:
        """What its docstring says beyond the first line, without the parts about parameters, results and errors."""
        return self._parsed_docstring.long_description or ""

    @cached_property
    def parameter_helps(self) -> dict[str, str]:
        """What its docstring says of each parameter, in reStructuredText, Google, NumPy or Epydoc style."""
        return {each.arg_name: each.description for each in self._parsed_docstring.params if each.description}

    @cached_property
    def _parsed_docstring(self) -> docstring_parser.Docstring:
        try:
            return docstring_parser.parse(self._docstring)
        except Exception:  # whatever stands in a docstring, it is only a help
            return docstring_parser.Docstring()

    def form(self, data=None, *, stored: dict | None = None) -> ParametersForm:
        """The form for its parameters: see `jobs.parameters.ParametersForm`."""
        return ParametersForm(self.signature, data, stored=stored, helps=self.parameter_helps)

    def enqueue(self, /, *args, **parameters):
        """Store a run with these parameters and return it. See `jobs.lifecycle.enqueue`."""
        return _Enqueuer(self, self.options).enqueue(*args, **parameters)

    def enqueue_many(self, parameter_sets):
        """Store a run for each dict of parameters, all or none, and return them in the same order."""
        return _Enqueuer(self, self.options).enqueue_many(parameter_sets)

    def using(self, **options):
        """The same function with other options for the runs enqueued through what is returned.

        `priority` -100..100 (lower is more urgent), `queue`, `run_after` (datetime, naive ones in TIME_ZONE, or a
        timedelta from now), `unique_key` (at most one unfinished run per function and key), `on_lost`, `max_losses`,
        `start_deadline` (a timedelta from when it is due), `max_attempts`, `backoff` (a timedelta or a `jobs.Backoff`),
        `timeout` and `progress_timeout` (timedeltas), `executor` ("threads" or "processes").
        Raises TypeError or ValueError for an unknown option or a bad value.
        """
        check_options(options, allowed=USING_OPTIONS)
        return _Enqueuer(self, replace(self.options, **options))


class _Enqueuer:
    """A task function together with the options that its next runs get."""

    def __init__(self, task: TaskFunction, options: Options):
        self._task = task
        self._options = options

    def enqueue(self, /, *args, **parameters):
        from jobs.lifecycle import enqueue  # models can only be imported once the app registry is ready

        return enqueue(self._task, self._task.signature.bind(args, parameters), self._options)

    def enqueue_many(self, parameter_sets):
        from jobs.lifecycle import enqueue_many

        bind = self._task.signature.bind
        arguments = [bind((), parameters) for parameters in _checked_sets(parameter_sets)]
        return enqueue_many(self._task, arguments, self._options)


def _checked_sets(parameter_sets) -> list[dict]:
    sets = list(parameter_sets) if isinstance(parameter_sets, Iterable) else [parameter_sets]
    for each in sets:
        if not isinstance(each, dict):
            raise TypeError(f"enqueue_many() needs a list with a dict of parameters for each run, got {each!r:.80}.")
    return sets


class Registry:
    """The task functions of this process by name, and the tasks modules that could not be imported."""

    def __init__(self):
        self._tasks: dict[str, TaskFunction] = {}
        self.broken_modules: dict[str, str] = {}

    def __iter__(self):
        return iter(sorted(self._tasks.values(), key=lambda task: task.name))

    def __contains__(self, name: str) -> bool:
        return name in self._tasks

    def get(self, name: str) -> TaskFunction:
        """The task function of this name; NotRegistered, with the likely cause, if there is none."""
        task = self._tasks.get(name) if isinstance(name, str) else None
        if task is None:
            raise NotRegistered(self._explanation(str(name)))
        return task

    def _explanation(self, name: str) -> str:
        for module, problem in self.broken_modules.items():
            if name.startswith(f"{module}."):
                return f"{name!r} is not registered: its module {module} could not be imported ({problem})."
        near = difflib.get_close_matches(name, self._tasks, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return (
            f"{name!r} is not registered as a task function in this process.{hint} "
            "Decorate it with @jobs.register in the tasks module of an installed app."
        )

    def add(self, task: TaskFunction) -> None:
        existing = self._tasks.get(task.name)
        if existing is not None and not _is_same_source(existing.func, task.func):
            raise RegistrationError(
                f"{task.name!r} is already registered by {_where(existing.func)}; "
                f"{_where(task.func)} needs another name."
            )
        self._tasks[task.name] = task

    def discard(self, name: str) -> None:
        """Forget a task function (tests only: a real process never loses one)."""
        self._tasks.pop(name, None)

    def discover(self, app_names) -> None:
        """Import every app's `tasks` module. One that cannot be imported is remembered and stops nobody else."""
        for app_name in app_names:
            module = f"{app_name}.tasks"
            if module not in sys.modules and not _exists(module):
                continue
            try:
                importlib.import_module(module)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # SystemExit at import as well: it must not end the server
                self.broken_modules[module] = "".join(traceback.format_exception_only(error)).strip()
            else:
                self.broken_modules.pop(module, None)


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _where(func: Callable) -> str:
    return f"{getattr(func, '__module__', '?')}.{getattr(func, '__qualname__', func)}"


def _is_same_source(one: Callable, other: Callable) -> bool:
    """Whether this is one function whose module was imported again."""
    return _where(one) == _where(other)


registry = Registry()


def register(func: Callable | None = None, /, **options):
    """Make a function a task function: `@register` or `@register(priority=10, …)`.

    `name` (default: module and function name) is stored with every run, so keep it when the function moves; `label` is
    what people read; `priority`, `queue`, `on_lost` ("requeue" or "fail"), `max_losses` (executions before a run whose
    worker keeps dying fails), `unique_key` and `start_deadline` (a timedelta: a run that would start later than that
    after its time is skipped) are the defaults of its runs. So are `max_attempts` (1 to 1000: how often it may raise),
    `backoff` (the pause before the next try: a timedelta, a `jobs.Backoff`, or a function of the number of failures and
    the exception that returns a timedelta or seconds), `timeout` (a timedelta for each execution), `progress_timeout`
    (a timedelta: so long it may tell no progress) and `executor` ("threads" or "processes"). `retry_on` and
    `give_up_on` (exception classes) say what is tried again; `interrupt=True` has `jobs.ForcedStop` raised in a
    function that is asked to end or out of time. `schedule` says when it runs by itself: a cron expression,
    a timedelta, what `jobs.schedule` returns, or a list of these. Returns the TaskFunction. Raises RegistrationError
    for a function that cannot be run, TypeError or ValueError for a bad option.
    """
    if func is None:
        return functools.partial(_register, options=options)
    return _register(func, options=options)


def _register(func: Callable, *, options: dict) -> TaskFunction:
    check_options(options, allowed=REGISTER_OPTIONS)
    _check_function(func)
    own = {key: options[key] for key in ("name", "label", "schedule") if key in options}
    task = TaskFunction(
        func,
        name=own.get("name") or f"{func.__module__}.{func.__qualname__}",
        label=own.get("label"),
        options=Options(**{key: value for key, value in options.items() if key not in own}),
        schedules=declared_schedules(own.get("schedule")),
    )
    check_options({"name": task.name}, allowed=REGISTER_OPTIONS)
    registry.add(task)
    return task


def _check_function(func) -> None:
    if not inspect.isroutine(func):
        raise RegistrationError(f"Only a function can be registered, got {func!r} ({type(func).__name__}).")
    if inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
        raise RegistrationError(
            f"{_where(func)} is a generator function: calling it would do nothing. Write a plain one."
        )
    if func.__name__ == "<lambda>":
        raise RegistrationError(
            "A lambda has no name of its own to be stored with its runs; write a function with def."
        )
