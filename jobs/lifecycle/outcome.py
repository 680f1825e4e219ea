"""How an execution ended, as a value. It is decided in one place and written in another (`finish`)."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.core.states import Reason, State
from jobs.core.texts import line, storable
from jobs.lifecycle.claim import ClaimedRun
from jobs.models import Attempt

MESSAGE_LENGTH = 4_000
TRACEBACK_LENGTH = 32_000
NAME_LENGTH = 255


@dataclass(slots=True)
class Failure:
    """What an unsuccessful execution said."""

    error_class: str
    message: str
    traceback: str = ""

    def __post_init__(self):
        self.error_class = line(self.error_class, NAME_LENGTH)
        self.message = storable(self.message, MESSAGE_LENGTH)
        self.traceback = storable(self.traceback, TRACEBACK_LENGTH)


@dataclass(slots=True)
class Outcome:
    """The end of one execution of a claimed run: the state it leads to, why, and what it leaves."""

    run: ClaimedRun
    state: State
    started_at: datetime
    ended_at: datetime
    reason: Reason = Reason.NONE
    reason_arguments: dict = field(default_factory=dict)
    result_json: str | None = None
    failure: Failure | None = None
    pause: timedelta | None = None  # after which the run is tried again; None: it has ended
    exit_code: int | None = None  # of the process that ended while it executed the function: the attempt is lost
    said: str = ""  # by a function that was cancelled or snoozed
    seconds: float = 0.0  # how long the function ran, on the monotonic clock

    @property
    def reason_json(self) -> str | None:
        return json.dumps(self.reason_arguments) if self.reason_arguments else None

    @property
    def attempt_outcome(self) -> Attempt.Outcome | None:
        """How the attempt is kept in the history; None for one that succeeded."""
        if self.is_lost:
            return Attempt.Outcome.LOST
        if self.failure is not None:
            return Attempt.Outcome.FAILED
        if self.pause is not None:
            return Attempt.Outcome.SNOOZED
        return Attempt.Outcome.CANCELLED if self.state == State.CANCELLED else None

    @property
    def is_lost(self) -> bool:
        return self.exit_code is not None

    @property
    def is_followed_by_another(self) -> bool:
        """Whether there may be another execution, which has its time."""
        return self.pause is not None or self.is_lost

    @property
    def due_at(self) -> datetime:
        """When the run is tried again."""
        return self.ended_at + self.pause

    def end_instead(self) -> None:
        """It was to be tried again, but somebody has asked it to end: a failure is the end, a snooze cancels it."""
        self.pause = None
        if self.failure is None:
            self.state, self.reason, self.reason_arguments = State.CANCELLED, Reason.STOPPED_BY_REQUEST, {}
        else:
            self.state, self.reason = State.FAILED, Reason.NOT_REPEATED

    def without_text(self, problem: str) -> None:
        """Keep how it ended, without any text that a function has made; `problem` says why."""
        if self.failure is not None:
            self.failure = Failure(self.failure.error_class, "")
            self.reason_arguments |= {"message": line(problem, 200)}
        elif self.state == State.SUCCEEDED:
            self.without_result(problem)
        self.said = ""

    def without_result(self, problem: str) -> None:
        """Keep the state; say that the result could not be kept."""
        self.result_json = None
        self.reason = Reason.RESULT_NOT_STORED
        self.reason_arguments = {"message": line(problem, 200)}
