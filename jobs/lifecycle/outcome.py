"""How an execution ended, as a value. It is decided in one place and written in another (`finish`)."""

import json
from dataclasses import dataclass, field
from datetime import datetime

from jobs.core.states import Reason, State
from jobs.core.texts import line, storable
from jobs.lifecycle.claim import ClaimedRun

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
    seconds: float = 0.0  # how long the function ran, on the monotonic clock

    @property
    def reason_json(self) -> str | None:
        return json.dumps(self.reason_arguments) if self.reason_arguments else None

    def without_result(self, problem: str) -> None:
        """Keep the state; say that the result could not be kept."""
        self.result_json = None
        self.reason = Reason.RESULT_NOT_STORED
        self.reason_arguments = {"message": line(problem, 200)}
