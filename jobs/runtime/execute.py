"""Calling a run's function and saying how it ended. Decides; writes nothing."""

import inspect
import logging
import sys
import time
import traceback
from contextlib import suppress
from contextvars import Context

from jobs.conf import get_settings
from jobs.core import clock
from jobs.core.states import Reason, State
from jobs.core.texts import line, storable
from jobs.errors import Cancelled, NotRegistered, ParameterError
from jobs.lifecycle.outcome import MESSAGE_LENGTH, Failure, Outcome
from jobs.parameters import dumps, loads
from jobs.registry import TaskFunction, registry
from jobs.runtime import capture
from jobs.runtime.context import RunContext, enter

logger = logging.getLogger("jobs")


def execute(context: RunContext) -> Outcome:
    """Run the function of a claimed run, in a context of its own, and return the outcome. Raises nothing."""
    capture.ensure()
    started_at, start = clock.now(), time.monotonic()
    outcome = Outcome(run=context.run, state=State.SUCCEEDED, started_at=started_at, ended_at=started_at)
    try:
        task = registry.get(context.task)
    except NotRegistered as error:
        _fail(outcome, Reason.NOT_REGISTERED, error)
    else:
        _run(task, context, outcome)
    outcome.ended_at = max(clock.now(), started_at)  # not before, if somebody has set the clock back
    outcome.seconds = time.monotonic() - start
    return outcome


def _run(task: TaskFunction, context: RunContext, outcome: Outcome) -> None:
    recursion_limit = sys.getrecursionlimit()
    try:
        value = Context().run(_call, task, context)
    except _WrongArguments as wrong:
        _fail(outcome, Reason.WRONG_ARGUMENTS, wrong.error)
    except Cancelled:
        outcome.state = State.CANCELLED
        outcome.reason = Reason.STOPPED_BY_REQUEST if context.cancel_requested else Reason.STOPPED_ITSELF
    except BaseException as error:  # SystemExit, KeyboardInterrupt, …: they end this run and nothing else
        _fail(outcome, Reason.FUNCTION_RAISED, error)
        with suppress(BaseException):  # a log handler that raises must not cost the outcome
            _tell(context, error, outcome.failure.traceback)
    else:
        _keep_result(outcome, task, value)
    finally:
        if sys.getrecursionlimit() != recursion_limit:  # the whole process has it, not only this context
            sys.setrecursionlimit(recursion_limit)


def _tell(context: RunContext, error: BaseException, text: str) -> None:
    """Log the failure with the traceback that is stored: handlers would make one of any length, each its own."""
    if not logger.isEnabledFor(logging.ERROR):
        return
    args, exc_info = (context.id, context.task), (type(error), error, error.__traceback__)
    record = logger.makeRecord(logger.name, logging.ERROR, __file__, 0, "run %s (%s) failed", args, exc_info)
    record.exc_text = text.rstrip("\n")
    logger.handle(record)


class _WrongArguments(Exception):
    """Tells a ParameterError of this run from one that its function met when it enqueued something itself."""

    def __init__(self, error: ParameterError):
        self.error = error


def _call(task: TaskFunction, context: RunContext) -> object:
    enter(context)
    try:
        args, kwargs = task.signature.to_call(_stored_arguments(context))
    except ParameterError as error:
        raise _WrongArguments(error) from None
    value = task.func(*args, **kwargs)
    if inspect.iscoroutine(value):
        value.close()
        raise TypeError(f"{task.name} returned a coroutine that nobody awaits. Await it inside (async_to_sync).")
    return value


def _stored_arguments(context: RunContext) -> dict:
    """What was stored; ParameterError if somebody has changed it into what is no JSON object."""
    try:
        arguments = loads(context.run.arguments_json)
    except ValueError as error:
        raise ParameterError(context.task, {"": f"the stored parameters are no JSON: {error}"}) from None
    if not isinstance(arguments, dict):
        raise ParameterError(context.task, {"": f"expected a JSON object, got {type(arguments).__name__}"})
    return arguments


def _keep_result(outcome: Outcome, task: TaskFunction, value: object) -> None:
    """The side effects have happened: a result that cannot be stored leaves the run succeeded, and says so."""
    if value is None:
        return
    limit = get_settings().MAX_RESULT_BYTES
    try:
        json_value = task.signature.result_to_json(value)
        text = None if _is_surely_longer(json_value, limit) else dumps(json_value)
    except BaseException as error:
        outcome.without_result(f"{type(value).__name__}: {_message(error)}")
        return
    if text is None or len(text) > limit:
        outcome.without_result(f"its JSON is longer than MAX_RESULT_BYTES ({limit} bytes)")
    else:
        outcome.result_json = text


def _is_surely_longer(value: object, limit: int) -> bool:
    """Whether the JSON of `value` has more than `limit` bytes, told without making it. False: perhaps it has."""
    size, rest = 0, [iter((value,))]
    while rest and size <= limit:
        each = next(rest[-1], rest)
        if each is rest:
            rest.pop()
            continue
        size += len(each) + 2 if isinstance(each, str) else 1
        if isinstance(each, dict):
            rest += [iter(each), iter(each.values())]
        elif isinstance(each, list | tuple):
            rest.append(iter(each))
    return size > limit


def _fail(outcome: Outcome, reason: Reason, error: BaseException) -> None:
    failure = Failure(_class_path(error), _message(error), _traceback(error))
    outcome.state = State.FAILED
    outcome.reason = reason
    outcome.failure = failure
    outcome.reason_arguments = {"error_class": failure.error_class, "message": line(failure.message, 200)}


def _class_path(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as problem:
        return f"(its text could not be made: {type(problem).__name__})"


def _traceback(error: BaseException) -> str:
    """The traceback without locals, from the function's own first line on; long recursions are shortened by Python."""
    position = error.__traceback__
    while position is not None and position.tb_frame.f_code.co_filename == __file__:
        position = position.tb_next
    try:
        found = traceback.TracebackException(type(error), error, position, compact=True)
        _shorten(found)
        return "".join(found.format())
    except BaseException as problem:
        return f"(the traceback could not be made: {type(problem).__name__})"


def _shorten(found: traceback.TracebackException) -> None:
    """Cut giant messages in it, and in those that it is chained to, before they are copied line by line."""
    rest = [found]
    while rest:
        each = rest.pop()
        if len(getattr(each, "_str", None) or "") > MESSAGE_LENGTH:  # nothing public leads to it
            each._str = storable(each._str, MESSAGE_LENGTH)
        if isinstance(each.__notes__, list):
            each.__notes__ = [storable(n, MESSAGE_LENGTH) if isinstance(n, str) else n for n in each.__notes__]
        rest += [other for other in (each.__cause__, each.__context__, *(each.exceptions or ())) if other is not None]
