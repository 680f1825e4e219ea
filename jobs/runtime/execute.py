"""Calling a run's function and saying how it ended. Decides; writes nothing."""

import inspect
import logging
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from datetime import datetime
from functools import partial

from jobs.conf import get_settings
from jobs.core import clock
from jobs.core.states import Reason, State
from jobs.core.texts import line, storable
from jobs.errors import Cancelled, ForcedStop, GiveUp, NotRegistered, ParameterError, Snooze, TimedOut
from jobs.lifecycle.outcome import MESSAGE_LENGTH, Failure, Outcome
from jobs.parameters import dumps, loads
from jobs.registry import TaskFunction, registry
from jobs.runtime import capture, coroutines, interruption, retries
from jobs.runtime.context import RunContext, enter
from jobs.runtime.interruption import Interruption
from jobs.runtime.limits import Overdue

logger = logging.getLogger("jobs")

# Their frames stand before the function's own first line in a traceback.
_OWN_FILES = (__file__, coroutines.__file__, interruption.__file__)


# Executes a coroutine and returns its result; see `coroutines.run_in_loop`.
Await = Callable[..., object]


def execute(context: RunContext, *, wait_for: Await = coroutines.run_in_loop) -> Outcome:
    """Run the function of a claimed run, in a context of its own, and return the outcome. Raises nothing."""
    capture.ensure()
    context.begin()
    started_at, start = clock.now(), time.monotonic()
    outcome = Outcome(run=context.run, state=State.SUCCEEDED, started_at=started_at, ended_at=started_at)
    try:
        task = registry.get(context.task)
    except NotRegistered as error:
        _fail(outcome, Reason.NOT_REGISTERED, error)
    else:
        _run(task, context, outcome, wait_for)
    outcome.ended_at = max(clock.now(), started_at)  # not before, if somebody has set the clock back
    outcome.seconds = time.monotonic() - start
    return outcome


def end_of_process(context: RunContext, started_at: datetime, seconds: float, exit_code: int | None) -> Outcome:
    """The outcome of a run whose process has ended with this code by itself; None: it was killed, because its function
    had to end and did not."""
    ended_at = max(clock.now(), started_at)
    outcome = Outcome(context.run, State.SCHEDULED, started_at, ended_at, seconds=seconds, exit_code=exit_code)
    if exit_code is None:
        killed = ForcedStop("It did not end by itself: it was killed.")
        _stop(registry.get(context.task), context, outcome, killed)
    return outcome


def _run(task: TaskFunction, context: RunContext, outcome: Outcome, wait_for: Await) -> None:
    recursion_limit = sys.getrecursionlimit()
    try:
        value = Context().run(_call, task, context, wait_for)
    except _WrongArguments as wrong:
        _fail(outcome, Reason.WRONG_ARGUMENTS, wrong.error)
    except Snooze as snooze:
        outcome.state, outcome.reason = State.SCHEDULED, Reason.SNOOZED
        outcome.pause, outcome.said = snooze.after, storable(_message(snooze), MESSAGE_LENGTH)
    except (Cancelled, ForcedStop) as error:
        _stop(task, context, outcome, error)
    except BaseException as error:  # SystemExit, KeyboardInterrupt, …: they end this run and nothing else
        _fail_or_repeat(task, context, outcome, error)
    else:
        _keep_result(outcome, task, value)
        if context.overdue is not None and outcome.reason == Reason.NONE:
            _say_overdue(outcome, context.overdue)
    finally:
        if sys.getrecursionlimit() != recursion_limit:  # the whole process has it, not only this context
            sys.setrecursionlimit(recursion_limit)


def _stop(task: TaskFunction, context: RunContext, outcome: Outcome, error: Cancelled | ForcedStop) -> None:
    """It has ended because it was asked to, or because its time is over, or by itself."""
    if context.overdue is not None and not context.is_asked_to_end:
        sentence, said = context.overdue.sentence, _message(error)
        timed_out = TimedOut(said if said.startswith(sentence) else f"{sentence} {said}".rstrip())
        timed_out.__traceback__ = error.__traceback__
        _fail_or_repeat(task, context, outcome, timed_out, context.overdue)
        return
    outcome.state = State.CANCELLED
    outcome.reason = Reason.STOPPED_BY_REQUEST if context.is_asked_to_end else Reason.STOPPED_ITSELF
    outcome.said = storable(_message(error), MESSAGE_LENGTH)


def _fail_or_repeat(
    task: TaskFunction, context: RunContext, outcome: Outcome, error: BaseException, overdue: Overdue | None = None
) -> None:
    _fail(outcome, Reason.GAVE_UP if isinstance(error, GiveUp) else Reason.FUNCTION_RAISED, error)
    if overdue is not None:
        _say_overdue(outcome, overdue)
    try:
        outcome.pause = retries.pause_before_next(task, context.run, error)
    except BaseException as problem:  # the function that says how long to wait: its traceback holds both
        _fail(outcome, Reason.FUNCTION_RAISED, problem)
    if outcome.pause is not None:
        counts = {"count": context.run.failures + 1, "most": context.run.max_attempts}
        outcome.state, outcome.reason = State.SCHEDULED, Reason.RETRY
        outcome.reason_arguments |= counts
    with suppress(BaseException):  # a log handler that raises must not cost the outcome
        _tell(context, error, outcome)


def _say_overdue(outcome: Outcome, overdue: Overdue) -> None:
    outcome.reason = overdue.reason
    outcome.reason_arguments |= {"seconds": f"{overdue.seconds:g}"}


def _tell(context: RunContext, error: BaseException, outcome: Outcome) -> None:
    """Log the failure with the traceback that is stored: handlers would make one of any length, each its own."""
    level = logging.ERROR if outcome.pause is None else logging.WARNING
    if not logger.isEnabledFor(level):
        return
    message, args = "run %s (%s) failed", (context.id, context.task)
    if outcome.pause is not None:
        message += " and is tried again in %s"
        args += (outcome.pause,)
    record = logger.makeRecord(
        logger.name, level, __file__, 0, message, args, (type(error), error, error.__traceback__)
    )
    record.exc_text = outcome.failure.traceback.rstrip("\n")
    logger.handle(record)


class _WrongArguments(Exception):
    """Tells a ParameterError of this run from one that its function met when it enqueued something itself."""

    def __init__(self, error: ParameterError):
        self.error = error


def _call(task: TaskFunction, context: RunContext, wait_for: Await) -> object:
    enter(context)
    try:
        args, kwargs = task.signature.to_call(_stored_arguments(context))
    except ParameterError as error:
        raise _WrongArguments(error) from None
    if task.options.interrupt and not task.is_async:
        value = _call_interruptible(partial(task.func, *args, **kwargs), context)
    else:
        value = task.func(*args, **kwargs)
    return wait_for(value, cancellable=context.can_be_stopped) if inspect.iscoroutine(value) else value


def _call_interruptible(function: Callable[[], object], context: RunContext) -> object:
    mine = Interruption()

    def stop() -> bool:
        context.was_cut_short = True  # told before it can have happened
        return mine.send(ForcedStop)

    context.can_be_stopped(stop)
    return mine.call(function)


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
    while position is not None and position.tb_frame.f_code.co_filename in _OWN_FILES:
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
